"""What watches over the endpoint: alarms, a dashboard, and scaling where it was measured what to aim at."""

from collections.abc import Mapping
from typing import Any

from aws_cdk import Duration, Stack
from aws_cdk import aws_applicationautoscaling as scaling
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_sagemaker as sagemaker

from deploy.metrics import CONCURRENCY, ERRORS, FIRST_AUDIO, INSTANCE_NAMESPACE, NAMESPACE, REFUSALS, SESSIONS
from deploy.settings import ENDPOINT_STACK, VARIANT, Settings

__all__ = ["add_alarms", "add_dashboard", "add_scaling"]

_COOLDOWN_OUT, _COOLDOWN_IN = 60, 900


def _metric(name: str, dimensions: Mapping[str, str], statistic: str, namespace: str = NAMESPACE) -> cloudwatch.Metric:
    return cloudwatch.Metric(
        namespace=namespace,
        metric_name=name,
        dimensions_map=dict(dimensions),
        statistic=statistic,
        period=Duration.minutes(1),
    )


def _dimensions(endpoint: str) -> dict[str, str]:
    return {"EndpointName": endpoint, "VariantName": VARIANT}


def add_alarms(stack: Stack, endpoint: str, settings: Settings) -> None:
    """Alarm on errors always; on slow first audio and on too many sessions where it was measured what that is."""
    name = settings.endpoint_name
    for error in ERRORS:
        _alarm(
            stack,
            f"{error}Alarm",
            endpoint,
            settings,
            alarm_name=f"{name}-{error}",
            alarm_description=f"{name}: {error} in one minute",
            metric_name=error,
            statistic="Sum",
            evaluation_periods=1,
            threshold=1,
            comparison_operator="GreaterThanOrEqualToThreshold",
        )
    if settings.first_audio_alarm_ms is not None:
        _alarm(
            stack,
            "FirstAudioAlarm",
            endpoint,
            settings,
            alarm_name=f"{name}-first-audio-p95",
            alarm_description=f"{name}: p95 of first audio over {settings.first_audio_alarm_ms:g} ms",
            metric_name=FIRST_AUDIO,
            extended_statistic="p95",
            evaluation_periods=3,
            datapoints_to_alarm=3,
            threshold=settings.first_audio_alarm_ms * 1000,
            comparison_operator="GreaterThanThreshold",
        )
    if settings.max_instances is not None and settings.sessions_per_instance is not None:
        # scaling should have added instances long before: the quota, the limit, or a policy that is not evaluated
        _alarm(
            stack,
            "SessionsAlarm",
            endpoint,
            settings,
            alarm_name=f"{name}-sessions-over-target",
            alarm_description=f"{name}: more than {settings.sessions_per_instance:g} sessions an instance for five "
            "minutes, although scaling should have answered",
            metric_name=CONCURRENCY,
            statistic="Maximum",
            evaluation_periods=5,
            datapoints_to_alarm=5,
            threshold=settings.sessions_per_instance,
            comparison_operator="GreaterThanThreshold",
        )


def _alarm(stack: Stack, id_: str, endpoint: str, settings: Settings, **what: Any) -> None:
    """Add an alarm on a metric of the endpoint's variant, by the minute; ``what`` are properties of CfnAlarm."""
    cloudwatch.CfnAlarm(
        stack,
        id_,
        namespace=NAMESPACE,
        dimensions=[
            cloudwatch.CfnAlarm.DimensionProperty(name=name, value=value)
            for name, value in _dimensions(endpoint).items()
        ],
        period=60,
        treat_missing_data="notBreaching",
        alarm_actions=[] if settings.alarm_topic is None else [settings.alarm_topic],
        **what,
    )


def add_dashboard(stack: Stack, endpoint: str, settings: Settings) -> None:
    """One page: first audio, sessions, errors, and what the instances are busy with."""
    dimensions = _dimensions(endpoint)
    board = cloudwatch.Dashboard(stack, "Dashboard", dashboard_name=settings.endpoint_name)
    target = settings.sessions_per_instance
    board.add_widgets(
        cloudwatch.GraphWidget(
            title="First audio (microseconds)",
            left=[_metric(FIRST_AUDIO, dimensions, statistic) for statistic in ("p50", "p95", "p99")],
        ),
        cloudwatch.GraphWidget(
            title="Sessions and errors",
            left=[_metric(SESSIONS, dimensions, "Sum")],
            right=[_metric(name, dimensions, "Sum") for name in (*ERRORS, REFUSALS)],
        ),
        cloudwatch.GraphWidget(
            title="Sessions at once",
            left=[_metric(CONCURRENCY, dimensions, statistic) for statistic in ("Maximum", "Average")],
            left_annotations=[]
            if target is None
            else [cloudwatch.HorizontalAnnotation(value=target, label="what scaling aims at")],
        ),
        cloudwatch.GraphWidget(
            title="Instances (per cent)",
            left=[
                _metric(name, dimensions, "Average", INSTANCE_NAMESPACE)
                for name in ("CPUUtilization", "GPUUtilization", "MemoryUtilization", "GPUMemoryUtilization")
            ],
        ),
    )


def add_scaling(stack: Stack, endpoint: sagemaker.CfnEndpoint, settings: Settings) -> None:
    """Follow the number of concurrent sessions, where it was measured how many an instance carries."""
    if settings.max_instances is None or settings.sessions_per_instance is None:
        return
    target = scaling.CfnScalableTarget(
        stack,
        "ScalableTarget",
        service_namespace="sagemaker",
        resource_id=f"endpoint/{endpoint.attr_endpoint_name}/variant/{VARIANT}",
        scalable_dimension="sagemaker:variant:DesiredInstanceCount",
        min_capacity=settings.instances,
        max_capacity=settings.max_instances,
    )
    scaling.CfnScalingPolicy(
        stack,
        "ScalingPolicy",
        policy_name=f"{ENDPOINT_STACK}-sessions",
        policy_type="TargetTrackingScaling",
        scaling_target_id=target.ref,
        target_tracking_scaling_policy_configuration=scaling.CfnScalingPolicy.TargetTrackingScalingPolicyConfigurationProperty(
            target_value=settings.sessions_per_instance,
            predefined_metric_specification=scaling.CfnScalingPolicy.PredefinedMetricSpecificationProperty(
                predefined_metric_type="SageMakerVariantConcurrentRequestsPerModelHighResolution"
            ),
            scale_out_cooldown=_COOLDOWN_OUT,
            scale_in_cooldown=_COOLDOWN_IN,
        ),
    )
