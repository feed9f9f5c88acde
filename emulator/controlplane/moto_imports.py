"""Where moto 5.2.5 falls short of change sets: everything replaced in it for that.

A change set may import what exists already (``ImportExistingResources``,
https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/import-resources-automatically.html): resources with a
name of their own and a deletion policy Retain or RetainExceptOnCreate. Here that is so for buckets and repositories.
"""

from typing import Any

from moto.cloudformation.models import CloudFormationBackend
from moto.cloudformation.responses import CloudFormationResponse
from moto.core.responses import ActionResult
from moto.ecr.models import Repository, ecr_backends
from moto.s3.models import FakeBucket, s3_backends
from moto.utilities.utils import get_partition

__all__ = ["apply"]

_RETAINED = {"Retain", "RetainExceptOnCreate"}
# stacks that may import, by id
_importing: set[str] = set()


def apply() -> None:
    """Close all gaps."""
    _note_which_stacks_import()
    _import_buckets()
    _import_repositories()
    _finish_what_a_change_set_made()
    _delete_no_change_set_twice()


def _note_which_stacks_import() -> None:
    """Moto does not read the parameter; and it makes a second stack where a first change set was never executed."""
    create = CloudFormationResponse.create_change_set

    def create_change_set(self: CloudFormationResponse) -> ActionResult:
        stacks = self.cloudformation_backend.stacks
        for stack_id, stack in list(stacks.items()):
            if stack.name == self._get_param("StackName") and stack.status == "REVIEW_IN_PROGRESS":
                del stacks[stack_id]
        answer = create(self)
        if self._get_bool_param("ImportExistingResources", if_none=False):
            _importing.add(answer.result["StackId"])  # type: ignore[index]
        return answer

    CloudFormationResponse.create_change_set = create_change_set  # type: ignore[method-assign]


def _imports(resource: dict[str, Any], stack_id: str) -> bool:
    return stack_id in _importing and resource.get("DeletionPolicy") in _RETAINED


def _import_buckets() -> None:
    create = FakeBucket.create_from_cloudformation_json.__func__  # type: ignore[attr-defined]

    def create_or_import(
        cls: type[FakeBucket],
        /,
        resource_name: str,
        cloudformation_json: Any,
        account_id: str,
        region_name: str,
        **more: Any,
    ) -> FakeBucket:
        there = s3_backends[account_id][get_partition(region_name)].buckets.get(resource_name)
        if there is not None and _imports(cloudformation_json, more.get("StackId", "")):
            return there
        made: FakeBucket = create(cls, resource_name, cloudformation_json, account_id, region_name, **more)
        return made

    FakeBucket.create_from_cloudformation_json = classmethod(create_or_import)  # type: ignore[assignment,method-assign]


def _import_repositories() -> None:
    create = Repository.create_from_cloudformation_json.__func__  # type: ignore[attr-defined]

    def create_or_import(
        cls: type[Repository],
        /,
        resource_name: str,
        cloudformation_json: Any,
        account_id: str,
        region_name: str,
        **more: Any,
    ) -> Repository:
        there = ecr_backends[account_id][region_name].repositories.get(resource_name)
        if there is not None and _imports(cloudformation_json, more.get("StackId", "")):
            return there
        made: Repository = create(cls, resource_name, cloudformation_json, account_id, region_name, **more)
        return made

    Repository.create_from_cloudformation_json = classmethod(create_or_import)  # type: ignore[assignment,method-assign]


def _finish_what_a_change_set_made() -> None:
    """Moto forgets the outputs and the exports of a stack that a change set has made."""
    execute = CloudFormationBackend.execute_change_set

    def execute_change_set(self: CloudFormationBackend, change_set_name: str, stack_name: str | None = None) -> None:
        execute(self, change_set_name, stack_name)
        for change_set in self.change_sets.values():
            if change_set_name in (change_set.change_set_id, change_set.change_set_name):
                stack = change_set.stack
                stack.template_dict = change_set.template_dict
                stack.output_map = stack._create_output_map()  # noqa: SLF001
                self.exports.update({export.name: export for export in stack.exports})

    CloudFormationBackend.execute_change_set = execute_change_set  # type: ignore[method-assign]


def _delete_no_change_set_twice() -> None:
    """Moto fails at one that is not there; CloudFormation says nothing."""
    delete = CloudFormationBackend.delete_change_set

    def delete_change_set(self: CloudFormationBackend, change_set_name: str) -> None:
        known = {name for each in self.change_sets.values() for name in (each.change_set_id, each.change_set_name)}
        if change_set_name in known:
            delete(self, change_set_name)

    CloudFormationBackend.delete_change_set = delete_change_set  # type: ignore[method-assign]
