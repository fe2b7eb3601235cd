"""The bring-up of a sandbox: its steps in their order, each with what it uses."""

from atoll.ports import WorkspacePreparer
from atoll.services.lifecycle.runtimes import SandboxRuntimes
from atoll.services.policies.policies import Policies
from atoll.services.provisioning.bring_up import BringUpStep
from atoll.services.provisioning.inside_agents import Layers
from atoll.services.provisioning.provisioning import Provisioning
from atoll.services.provisioning.steps.agents import AgentChoice, AgentStart, OwnAgentCheck
from atoll.services.provisioning.steps.instructions import InstructionsCheck, RepositoryInstructions
from atoll.services.provisioning.steps.policy import PolicyComposition, PolicyInForce
from atoll.services.provisioning.steps.prebuild import (
    PrebuildChoice,
    Prebuilding,
    PrebuiltWorkspace,
)
from atoll.services.provisioning.steps.project_setup import ProjectSetup
from atoll.services.provisioning.steps.screens import ScreenRead, TerminalReturn
from atoll.services.provisioning.steps.task import TaskStart
from atoll.services.provisioning.steps.wall import BackendRequest, Mounts, Wall
from atoll.services.provisioning.steps.workspace import (
    CopiedBranches,
    CopiedPushes,
    ReadOnlyTrees,
    StartFolder,
    WorkspaceTrees,
)


def bring_up_steps(
    provisioning: Provisioning,
    runtimes: SandboxRuntimes,
    *,
    policies: Policies,
    workspaces: WorkspacePreparer,
    layers: Layers,
    screens: ScreenRead,
    prebuilding: Prebuilding | None = None,
) -> tuple[BringUpStep, ...]:
    """Return the steps from a sandbox on paper to one that its people and agents can use."""
    return (
        # Before the wall: what can be refused is refused while nothing stands.
        PolicyComposition(policies),
        AgentChoice(layers.agents),
        Mounts(workspaces, layers.safety),
        InstructionsCheck(workspaces),
        PrebuildChoice(prebuilding, layers.configs),
        BackendRequest(layers, workspaces),
        ReadOnlyTrees(provisioning, workspaces),
        Wall(provisioning, runtimes, prebuilding),
        # Behind it: the policy is in force before anything of the caller's runs.
        PolicyInForce(policies),
        OwnAgentCheck(),
        CopiedPushes(),
        PrebuiltWorkspace(prebuilding),
        WorkspaceTrees(workspaces),
        CopiedBranches(),
        StartFolder(),
        RepositoryInstructions(),
        screens,
        AgentStart(layers),
        TerminalReturn(),
        ProjectSetup(),
        TaskStart(),
    )
