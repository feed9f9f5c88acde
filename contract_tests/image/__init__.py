"""What an image shows without being run: from a Dockerfile, an archive, or the container engine."""
