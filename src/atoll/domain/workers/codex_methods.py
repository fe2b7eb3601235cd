"""Methods of Codex's app-server that workers allow, with the fields that each requires.

Everything else of Codex is refused, above all what Atoll does itself: login, config, plugins,
files and commands. So is what a worker's runtime does (`initialize`, `thread/unsubscribe`), what
only a person may do (`thread/approveGuardianDeniedAction`), and what deletes a thread.
"""

from typing import Final

READ: Final = """
experimentalFeature/list
hooks/list
mcpServerStatus/list
model/list
modelProvider/capabilities/read
modelProvider/list
permissionProfile/list
skills/list
thread/attachment/list threadId
thread/attachmentOwner/list attachmentType identityKey
thread/goal/get threadId
thread/items/list threadId
thread/list
thread/loaded/list
thread/read threadId
thread/turns/list threadId
threadSection/list
"""

DRIVE: Final = """
review/start target threadId
thread/archive threadId
thread/attachment/add attachmentType identityKey payload threadId
thread/attachment/remove attachmentType identityKey threadId
thread/compact/start threadId
thread/fork threadId
thread/goal/clear threadId
thread/goal/set threadId
thread/inject_items items threadId
thread/metadata/update threadId
thread/name/set name threadId
thread/resume threadId
thread/revert beforeTurnId threadId
thread/section/move sectionId? threadId
thread/start
thread/unarchive threadId
threadSection/create name
threadSection/delete sectionId
threadSection/update name sectionId
turn/interrupt threadId turnId
turn/start input threadId
turn/steer expectedTurnId input threadId
"""

REFUSED: Final = """
account/gatewayOAuth/cancel account/gatewayOAuth/login account/gatewayOAuth/read
account/login/cancel account/login/start account/logout account/rateLimitResetCredit/consume
account/rateLimits/read account/read account/securitySetup/read account/sendAddCreditsNudgeEmail
account/usage/read account/workspaceMessages/read app/installed app/list app/read
command/exec command/exec/resize command/exec/terminate command/exec/write
config/batchWrite config/mcpServer/reload config/read config/value/write configRequirements/read
experimentalFeature/enablement/set externalAgentConfig/detect externalAgentConfig/import
externalAgentConfig/import/readHistories externalAgentConfig/import/recordHistory
feedback/save feedback/upload fs/copy fs/createDirectory fs/getMetadata fs/readDirectory
fs/readFile fs/remove fs/unwatch fs/watch fs/writeFile fuzzyFileSearch initialize
marketplace/add marketplace/remove marketplace/upgrade mcpServer/oauth/login
mcpServer/resource/read mcpServer/tool/call modelProvider/config/write modelProvider/default/set
plugin/install plugin/installed plugin/list plugin/read plugin/reconcile plugin/share/checkout
plugin/share/delete plugin/share/list plugin/share/save plugin/share/updateTargets
plugin/skill/read plugin/uninstall skills/config/write skills/extraRoots/set
thread/approveGuardianDeniedAction thread/delete thread/shellCommand thread/unsubscribe
windowsSandbox/readiness windowsSandbox/setupStart
"""
"""Methods of Codex 0.171.0 that are refused on purpose; unknown ones are refused as well."""

FIELDS: Final = """
additionalContext ancestorThreadId appearance archived attachToSource attachedToThreadId
attachmentType baseInstructions beforeThreadId beforeTurnId clientUserMessageId
collaborationMode currentAccountOnly cursor cwd cwds daybreakEnabled
deferGoalContinuation deferOutput delivery detail developerInstructions effort ephemeral
excludeTurns excludedThreadIds expectedTurnId forceReload gitInfo identityKey
includeAttachedThreads includeHidden includeTurns includedThreadIds initialTurnsPage
input items itemsView lastTurnId limit model modelProviders multiAgentMode name
objective origin originators outputSchema parentThreadId parentTurnId payload
personality projectId rootTurnId searchTerm sectionId serverName serviceName serviceTier
serviceTierForTurn sessionStartSource sortDirection sortKey sourceKinds status summary
target threadId threadSource tokenBudget turnId turnTrigger useStateDbOnly
"""
"""Fields of params that are passed on."""

REFUSED_FIELDS: Final = """
allowProviderModelFallback approvalPolicy approvalsReviewer config cyberAccessProgram
disabledPluginIds dynamicTools environmentId environments
experimentalDisablePredictionMcp experimentalPredictionMode experimentalRawEvents
history historyMode mockExperimentalField modelProvider path permissions
responsesapiClientMetadata responsesapiClientMetadataPatch runtimeWorkspaceRoots sandbox
sandboxPolicy selectedCapabilityRoots toolOutput
"""
"""Fields of params that are refused where they drive: they would replace the worker's permissions,
its wall, its configuration or its model provider, or name files outside. Unknown ones are refused
as well."""
