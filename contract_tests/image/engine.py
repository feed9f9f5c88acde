"""An image that the container engine has, through the docker SDK."""

from contract_tests.image.archive import from_config
from contract_tests.image.description import ImageDescription, ImageError

__all__ = ["read_image"]


def read_image(name: str) -> ImageDescription:
    """Return what the engine tells of an image. It is neither pulled nor run.

    Raises:
        ImageError: no engine answers, or it has no such image.
    """
    try:
        import docker  # noqa: PLC0415 - slow to import, and most runs need no engine
        from docker.errors import DockerException, ImageNotFound  # noqa: PLC0415
    except ImportError as error:
        raise ImageError(f"image:{name}", str(error), "install the extra 'contract', which brings it.") from None
    try:
        client = docker.from_env(timeout=30)
    except DockerException as error:
        raise ImageError(
            f"image:{name}",
            f"no container engine answers ({error})",
            "start one (`docker info`), or name a Dockerfile or an archive.",
        ) from None
    try:
        attributes = client.images.get(name).attrs
    except ImageNotFound:
        raise ImageError(
            f"image:{name}", "the engine has no such image", "see `docker image ls`; build or pull it first."
        ) from None
    except DockerException as error:
        raise ImageError(
            f"image:{name}", f"the engine does not tell ({error})", "try `docker image inspect`."
        ) from None
    finally:
        client.close()
    document = {
        "config": attributes.get("Config"),
        "architecture": attributes.get("Architecture"),
        "os": attributes.get("Os"),
    }
    return from_config(f"image:{name}", "engine", document, None, attributes.get("Size"))
