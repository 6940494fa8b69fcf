// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Every log message of the daemon. docs/reference/log.md is generated from this table and from
// plugins/common/log_ids.hpp by test/lint/log_messages.py --write.
//
// A row: constant, id, level, component, keys of its JSON line, meaning, remedy (empty: none is needed). An id never
// changes and is never used for another meaning.
#pragma once

#include "core/base/log.hpp"

namespace sluice::base::message {

#define SLUICE_LOG_MESSAGE(name, id, level, component, keys, meaning, remedy) \
  inline constexpr LogMessage name { id, LogLevel::level, component }

SLUICE_LOG_MESSAGE(kLeftoverNeedsPlugin, "leftover-needs-plugin", warning, "cleanup", "backend family name",
                   "Only a missing plugin can remove this leftover state.",
                   "Install the plugin again and run sluiced --cleanup.");
SLUICE_LOG_MESSAGE(kLeftoverNone, "leftover-none", debug, "cleanup", "",
                   "No leftover state of other modes was found.",
                   "");
SLUICE_LOG_MESSAGE(kLeftoverNotRemoved, "leftover-not-removed", warning, "cleanup", "error",
                   "Leftover state of another mode could not be removed.",
                   "Run sluiced --cleanup, or remove it by hand.");
SLUICE_LOG_MESSAGE(kLeftoverNote, "leftover-note", warning, "cleanup", "error",
                   "The removal of leftover state left or changed something that the line names.",
                   "");
SLUICE_LOG_MESSAGE(kLeftoverRemoved, "leftover-removed", info, "cleanup", "name",
                   "Leftover state of another mode was removed after the first sync.",
                   "");
SLUICE_LOG_MESSAGE(kLeftoverServersDraining, "leftover-servers-draining", info, "cleanup", "count",
                   "Virtual servers of another mode stay until their connections end.",
                   "");

SLUICE_LOG_MESSAGE(kConntrackFailed, "conntrack-failed", warning, "conntrack", "family error",
                   "Stale UDP flows cannot be removed; the daemon retries.",
                   "Grant CAP_NET_ADMIN; check that the kernel has nf_conntrack_netlink.");
SLUICE_LOG_MESSAGE(kConntrackRecovered, "conntrack-recovered", info, "conntrack", "family",
                   "Stale UDP flows are removed again after earlier failures.",
                   "");
SLUICE_LOG_MESSAGE(kConntrackScanned, "conntrack-scanned", debug, "conntrack", "family count seconds",
                   "A scan of the conntrack table has ended.",
                   "");
SLUICE_LOG_MESSAGE(kConntrackStateUnreadable, "conntrack-state-unreadable", warning, "conntrack", "family file error",
                   "The list of frontends of the earlier process is unreadable; flows to Services deleted "
                   "meanwhile time out.",
                   "");
SLUICE_LOG_MESSAGE(kConntrackStateUnwritable, "conntrack-state-unwritable", warning, "conntrack", "family file error",
                   "The list of frontends for the next process could not be written.",
                   "Check that the state directory has space.");

SLUICE_LOG_MESSAGE(kBackendStartSlow, "backend-start-slow", warning, "daemon", "backend",
                   "A backend has not returned from its start for some time.",
                   "Check for a process that holds the xtables lock, or for a slow kernel.");
SLUICE_LOG_MESSAGE(kCleanupBackendDone, "cleanup-backend-done", info, "daemon", "backend",
                   "--cleanup removed all kernel state of a backend.",
                   "");
SLUICE_LOG_MESSAGE(kCleanupDone, "cleanup-done", info, "daemon", "",
                   "--cleanup has removed leftover state of other backends, or there was none.",
                   "");
SLUICE_LOG_MESSAGE(kCleanupFailed, "cleanup-failed", error, "daemon", "error",
                   "--cleanup could not remove some state.",
                   "Follow the remedy in the line and run --cleanup again.");
SLUICE_LOG_MESSAGE(kCleanupNote, "cleanup-note", warning, "daemon", "error",
                   "--cleanup left or changed something that the line names.",
                   "");
SLUICE_LOG_MESSAGE(kConfigurationWarning, "configuration-warning", warning, "daemon", "error",
                   "The configuration has a deprecated, ignored or doubtful setting.",
                   "Change the setting that the line names.");
SLUICE_LOG_MESSAGE(kDaemonFailed, "daemon-failed", error, "daemon", "error",
                   "The daemon cannot start or continue, and exits with status 1.",
                   "Fix the cause that the line names; the service manager starts the daemon again.");
SLUICE_LOG_MESSAGE(kDaemonStarting, "daemon-starting", info, "daemon", "version node backend",
                   "The daemon starts, with its version, node and backend.",
                   "");
SLUICE_LOG_MESSAGE(kDaemonStopping, "daemon-stopping", info, "daemon", "signal",
                   "The daemon stops on a signal. Rules stay in the kernel.",
                   "");
SLUICE_LOG_MESSAGE(kFamilyUnused, "family-unused", info, "daemon", "family error",
                   "The node or the backend does not support this address family, and the daemon runs without it.",
                   "Enable the address family if Services need it.");
SLUICE_LOG_MESSAGE(kFlagValue, "flag-value", info, "daemon", "name value",
                   "A flag and its value, logged from verbosity 1.",
                   "");
SLUICE_LOG_MESSAGE(kInitDone, "init-done", info, "daemon", "backend",
                   "The privileged settings are applied, and the daemon exits because of --init-only.",
                   "");
SLUICE_LOG_MESSAGE(kInitFailed, "init-failed", error, "daemon", "error",
                   "--init-only failed.",
                   "Fix the cause that the line names.");
SLUICE_LOG_MESSAGE(kModeChosen, "mode-chosen", info, "daemon", "backend",
                   "Mode auto has chosen a backend, with the reason.",
                   "");
SLUICE_LOG_MESSAGE(kReplayOfAnotherNode, "replay-of-another-node", warning, "daemon", "file node",
                   "The recording was made on another node, where other endpoints are local.",
                   "Set --hostname-override to the recorded node.");
SLUICE_LOG_MESSAGE(kStartAbandoned, "start-abandoned", warning, "daemon", "",
                   "A stop signal arrived while a backend did not return from its start.",
                   "");

SLUICE_LOG_MESSAGE(kEventFailed, "event-failed", warning, "events", "status",
                   "An event could not be written.",
                   "Grant create and patch on events.");
SLUICE_LOG_MESSAGE(kEventRecorded, "event-recorded", debug, "events", "reason",
                   "An event was queued for the API server.",
                   "");
SLUICE_LOG_MESSAGE(kEventsDropped, "events-dropped", warning, "events", "count",
                   "Too many events wait for the API server; the oldest are dropped.",
                   "");

SLUICE_LOG_MESSAGE(kCaChanged, "ca-changed", info, "kube", "file",
                   "The CA certificate was replaced, and the new one is used.",
                   "");
SLUICE_LOG_MESSAGE(kCaMissing, "ca-missing", warning, "kube", "file",
                   "The service account has no ca.crt; the CAs of the system are trusted.",
                   "Mount the service account with its ca.crt.");
SLUICE_LOG_MESSAGE(kClientCertificateChanged, "client-certificate-changed", info, "kube", "file",
                   "The client certificate was replaced, and the new one is used.",
                   "");
SLUICE_LOG_MESSAGE(kClientCertificateExpired, "client-certificate-expired", warning, "kube", "file",
                   "The client certificate has expired or is not valid yet.",
                   "Renew it, or correct the clock of the node.");
SLUICE_LOG_MESSAGE(kCredentialKept, "credential-kept", warning, "kube", "error",
                   "A credential could not be read again; the last one stays in use.",
                   "Fix the file that the line names.");
SLUICE_LOG_MESSAGE(kCredentialRenewed, "credential-renewed", info, "kube", "name",
                   "A credential could be read again.",
                   "");
SLUICE_LOG_MESSAGE(kEndpointsFallback, "endpoints-fallback", warning, "kube", "server",
                   "The API server offers no EndpointSlices; the daemon reads Endpoints.",
                   "Upgrade the API server.");
SLUICE_LOG_MESSAGE(kEndpointslicesAvailable, "endpointslices-available", info, "kube", "server",
                   "The API server offers EndpointSlices again.",
                   "");
SLUICE_LOG_MESSAGE(kFieldSelectorUnknown, "field-selector-unknown", info, "kube", "resource",
                   "The server does not know a field selector; the daemon lists without it.",
                   "");
SLUICE_LOG_MESSAGE(kObjectIgnored, "object-ignored", debug, "kube", "object reason",
                   "An object does not concern this proxy.",
                   "");
SLUICE_LOG_MESSAGE(kObjectProblem, "object-problem", warning, "kube", "object error",
                   "An object from the API server is invalid in whole or in part. Its last valid state is kept.",
                   "Fix the object.");
SLUICE_LOG_MESSAGE(kObjectProblemsSuppressed, "object-problems-suppressed", warning, "kube", "resource",
                   "More objects have problems than are named.",
                   "Read the rejected objects in sluicectl status.");
SLUICE_LOG_MESSAGE(kRequestFailed, "request-failed", warning, "kube", "request error count",
                   "A request to the API server failed; the daemon retries with increasing pauses. Repeated "
                   "failures are logged at the 4th, 16th, 64th time.",
                   "See troubleshooting of the API server connection.");
SLUICE_LOG_MESSAGE(kRequestLimitWait, "request-limit-wait", warning, "kube", "path",
                   "Requests wait for the client's own rate limit.",
                   "Raise qps and burst of the client connection.");
SLUICE_LOG_MESSAGE(kRequestRecovered, "request-recovered", info, "kube", "request count",
                   "A request to the API server succeeds again.",
                   "");
SLUICE_LOG_MESSAGE(kResourceAbsent, "resource-absent", info, "kube", "resource reason",
                   "The API server lacks an optional kind; the daemon works without it.",
                   "");
SLUICE_LOG_MESSAGE(kResourceForbidden, "resource-forbidden", warning, "kube", "resource error",
                   "The daemon may not list an optional kind and works without it.",
                   "Grant what ClusterRole system:node-proxier grants.");
SLUICE_LOG_MESSAGE(kStreamingSwitchInvalid, "streaming-switch-invalid", warning, "kube", "value",
                   "The environment variable for streaming lists has an invalid value and is ignored.",
                   "Set it to true or false.");
SLUICE_LOG_MESSAGE(kStreamingUnavailable, "streaming-unavailable", info, "kube", "reason",
                   "The server does not offer streaming lists; the daemon lists in pages.",
                   "");
SLUICE_LOG_MESSAGE(kWatchAvailable, "watch-available", info, "kube", "resource",
                   "A kind that the server did not offer or allow before is watched now.",
                   "");
SLUICE_LOG_MESSAGE(kWatchEnded, "watch-ended", debug, "kube", "resource error",
                   "A watch ended with an error and resumes.",
                   "");
SLUICE_LOG_MESSAGE(kWatchEventSkipped, "watch-event-skipped", warning, "kube", "resource reason",
                   "A watch event of an unknown type or kind is ignored.",
                   "");
SLUICE_LOG_MESSAGE(kWatchExpired, "watch-expired", debug, "kube", "resource",
                   "The version of the watch is too old; the daemon lists again.",
                   "");

SLUICE_LOG_MESSAGE(kDescriptorNotStored, "descriptor-not-stored", warning, "lifecycle", "backend name error",
                   "A socket cannot be handed to the next process; its connections end with this one.",
                   "Set FileDescriptorStoreMax of the unit.");
SLUICE_LOG_MESSAGE(kDescriptorSendFailed, "descriptor-send-failed", warning, "lifecycle", "",
                   "The service manager rejected a descriptor.",
                   "Check NotifyAccess and FileDescriptorStoreMax of the unit.");
SLUICE_LOG_MESSAGE(kDescriptorStoreUnreachable, "descriptor-store-unreachable", warning, "lifecycle", "",
                   "The service manager cannot be reached to store descriptors; the daemon retries.",
                   "");
SLUICE_LOG_MESSAGE(kDescriptorsUnknown, "descriptors-unknown", warning, "lifecycle", "count",
                   "The service manager passed descriptors that the daemon does not know; they are closed.",
                   "");
SLUICE_LOG_MESSAGE(kOwnershipLedgerNotUpdated, "ownership-ledger-not-updated", warning, "lifecycle", "error",
                   "The ownership ledger could not be written or read.",
                   "Check that the state directory exists and has space.");
SLUICE_LOG_MESSAGE(kOwnershipLedgerUnreadable, "ownership-ledger-unreadable", warning, "lifecycle", "error",
                   "The ownership ledger is unreadable; leftover state of other backends may stay.",
                   "Run sluiced --cleanup when the daemon is stopped.");
SLUICE_LOG_MESSAGE(kModeDeprecated, "mode-deprecated", warning, "lifecycle", "backend",
                   "The active mode is deprecated.",
                   "Change to the mode that the line names.");
SLUICE_LOG_MESSAGE(kSwapNotRolledBack, "swap-not-rolled-back", error, "lifecycle", "backend",
                   "The swap succeeded although another part of the reload failed.",
                   "Reload the configuration again.");

SLUICE_LOG_MESSAGE(kManifestDuplicate, "manifest-duplicate", error, "manifests", "error",
                   "Two manifest files define the same object; one is ignored.",
                   "Remove one of them.");
SLUICE_LOG_MESSAGE(kManifestFolderUnreadable, "manifest-folder-unreadable", error, "manifests", "file error",
                   "The folder of manifests cannot be read; its objects are kept.",
                   "Restore the folder.");
SLUICE_LOG_MESSAGE(kManifestInvalid, "manifest-invalid", error, "manifests", "file error",
                   "A manifest file has an error.",
                   "Fix the place that the line names.");
SLUICE_LOG_MESSAGE(kManifestNote, "manifest-note", warning, "manifests", "file",
                   "A manifest file has an object with a doubtful field.",
                   "Fix the place that the line names.");
SLUICE_LOG_MESSAGE(kManifestSkipped, "manifest-skipped", debug, "manifests", "file",
                   "An object in a manifest file does not concern this proxy.",
                   "");
SLUICE_LOG_MESSAGE(kManifestUnreadable, "manifest-unreadable", error, "manifests", "file error",
                   "A manifest file cannot be read.",
                   "Fix its permissions.");
SLUICE_LOG_MESSAGE(kManifestsChanged, "manifests-changed", info, "manifests", "file count",
                   "Objects in the manifests changed.",
                   "");
SLUICE_LOG_MESSAGE(kManifestsPolled, "manifests-polled", warning, "manifests", "file",
                   "inotify is not available; the daemon polls the manifests.",
                   "Raise fs.inotify.max_user_instances.");
SLUICE_LOG_MESSAGE(kManifestsRead, "manifests-read", info, "manifests", "file count",
                   "The manifests were read for the first time.",
                   "");

SLUICE_LOG_MESSAGE(kAddressMonitorEnded, "address-monitor-ended", error, "node", "",
                   "The daemon no longer follows the addresses of the node.",
                   "Restart the daemon; report the error.");
SLUICE_LOG_MESSAGE(kAddressesUnreadable, "addresses-unreadable", warning, "node", "error",
                   "The addresses of the node could not be read; the daemon retries.",
                   "Check the permissions of the daemon if it persists.");
SLUICE_LOG_MESSAGE(kBridgeNetfilterOff, "bridge-netfilter-off", warning, "node", "",
                   "Packets between pods on one bridge bypass the rules.",
                   "Load br_netfilter and set net.bridge.bridge-nf-call-iptables and -ip6tables to 1.");
SLUICE_LOG_MESSAGE(kConntrackLiberalUnreadable, "conntrack-liberal-unreadable", warning, "node", "error",
                   "A sysctl of conntrack could not be read; packets in state INVALID are treated as usual.",
                   "Grant read access to /proc/sys/net/netfilter.");
SLUICE_LOG_MESSAGE(kConntrackSettingFailed, "conntrack-setting-failed", warning, "node", "error",
                   "A sysctl of conntrack could not be set.",
                   "Grant write access to /proc/sys, set the sysctl yourself, or set the field to 0.");
SLUICE_LOG_MESSAGE(kNodeObjectWarning, "node-object-warning", warning, "node", "",
                   "The Node object has no addresses, its addresses or pod CIDRs changed, or an address family has no "
                   "range of local pods.",
                   "Restart the daemon to use changed addresses; configure a range of local pods for each family.");
SLUICE_LOG_MESSAGE(kNodePortAddressIgnored, "node-port-address-ignored", warning, "node", "",
                   "Node ports cannot be served on a loopback address that nodePortAddresses selects.",
                   "Remove the address from nodePortAddresses, or turn on node ports on localhost where the mode supports them.");
SLUICE_LOG_MESSAGE(kOomScoreFailed, "oom-score-failed", warning, "node", "error",
                   "The OOM score adjustment could not be set.",
                   "Grant CAP_SYS_RESOURCE or change oomScoreAdj.");

SLUICE_LOG_MESSAGE(kBackendCallSlow, "backend-call-slow", warning, "plugin", "backend call milliseconds",
                   "A backend call took longer than its limit.",
                   "Check the load of the node and the number of rules; report it to the author of the backend.");
SLUICE_LOG_MESSAGE(kPluginLoaded, "plugin-loaded", info, "plugin", "file backend version",
                   "A plugin was loaded.",
                   "");
SLUICE_LOG_MESSAGE(kPluginMetricDropped, "plugin-metric-dropped", warning, "plugin", "backend name error",
                   "A backend reported an invalid metric, which is dropped.",
                   "Report it to the author of the backend.");
SLUICE_LOG_MESSAGE(kPluginOwnershipUnchecked, "plugin-ownership-unchecked", warning, "plugin", "file",
                   "A developer setting switched off the ownership check of plugins.",
                   "Do not use the setting in production.");
SLUICE_LOG_MESSAGE(kPluginUnloadedLate, "plugin-unloaded-late", info, "plugin", "file",
                   "A plugin was unmapped after its last user ended.",
                   "");

SLUICE_LOG_MESSAGE(kRecordingEnded, "recording-ended", error, "record", "file error",
                   "The recording has ended because of an error; the daemon continues.",
                   "Free space, and restart the daemon to record again.");
SLUICE_LOG_MESSAGE(kRecordingNotTruncated, "recording-not-truncated", warning, "record", "file",
                   "An incomplete line at the end of the recording could not be removed.",
                   "");
SLUICE_LOG_MESSAGE(kRecordingStarted, "recording-started", info, "record", "file",
                   "The daemon records the events of its source.",
                   "");

SLUICE_LOG_MESSAGE(kFileReadable, "file-readable", info, "reload", "file",
                   "A watched file can be read again.",
                   "");
SLUICE_LOG_MESSAGE(kFileUnreadable, "file-unreadable", warning, "reload", "file error",
                   "A watched file cannot be read; its last content stays in use.",
                   "Restore the file.");
SLUICE_LOG_MESSAGE(kFileWatchPolling, "file-watch-polling", warning, "reload", "file",
                   "inotify is not available; the daemon polls its configuration files.",
                   "Raise fs.inotify.max_user_watches or max_user_instances.");
SLUICE_LOG_MESSAGE(kReloadDone, "reload-done", info, "reload", "trigger",
                   "A reload was applied, with what changed.",
                   "");
SLUICE_LOG_MESSAGE(kReloadFailed, "reload-failed", error, "reload", "trigger error",
                   "A reload failed; the running configuration is kept, or a part of the new one is applied, as "
                   "the line says.",
                   "Fix the error and reload.");
SLUICE_LOG_MESSAGE(kReloadUnchanged, "reload-unchanged", info, "reload", "trigger",
                   "A reload found no change.",
                   "");
SLUICE_LOG_MESSAGE(kReloadWarning, "reload-warning", warning, "reload", "error",
                   "The new configuration has a deprecated, ignored or doubtful setting.",
                   "Change the setting that the line names.");

SLUICE_LOG_MESSAGE(kRecordingWarning, "recording-warning", warning, "replay", "file error",
                   "The recording is incomplete or was cut off.",
                   "");
SLUICE_LOG_MESSAGE(kReplayDone, "replay-done", info, "replay", "file count",
                   "All events of the recording were replayed.",
                   "");
SLUICE_LOG_MESSAGE(kReplayFailed, "replay-failed", error, "replay", "file error",
                   "The replay ended early; the replayed state is kept.",
                   "Record again.");
SLUICE_LOG_MESSAGE(kReplayStarted, "replay-started", info, "replay", "file count",
                   "The daemon replays a recording instead of connecting to an API server.",
                   "");

SLUICE_LOG_MESSAGE(kControlSocketClosed, "control-socket-closed", error, "serve", "",
                   "The control socket failed. sluicectl does not work until a restart.",
                   "Restart the daemon; report the error.");
SLUICE_LOG_MESSAGE(kHealthConnectionFailed, "health-connection-failed", error, "serve", "error",
                   "A connection to a health check node port failed.",
                   "");
SLUICE_LOG_MESSAGE(kHealthPortFailed, "health-port-failed", warning, "serve", "service error",
                   "A health check node port cannot be opened; the daemon retries.",
                   "Stop the process that has the port, or change the port of the Service.");
SLUICE_LOG_MESSAGE(kHealthPortOpen, "health-port-open", info, "serve", "service port",
                   "A health check node port is open.",
                   "");
SLUICE_LOG_MESSAGE(kHttpConnectionFailed, "http-connection-failed", error, "serve", "name error",
                   "A connection to an HTTP listener failed.",
                   "");
SLUICE_LOG_MESSAGE(kHttpRequestFailed, "http-request-failed", error, "serve", "error",
                   "An HTTP request of a client could not be answered.",
                   "Report the error.");
SLUICE_LOG_MESSAGE(kListenFailed, "listen-failed", warning, "serve", "name address error",
                   "An HTTP listener cannot bind its address; the daemon retries.",
                   "Stop the process that has the port, or change the bind address.");
SLUICE_LOG_MESSAGE(kListening, "listening", info, "serve", "name address",
                   "An HTTP listener is open.",
                   "");
SLUICE_LOG_MESSAGE(kListeningRecovered, "listening-recovered", info, "serve", "name address",
                   "An HTTP listener is open after earlier failures.",
                   "");

SLUICE_LOG_MESSAGE(kNodeDeleted, "node-deleted", warning, "store", "node",
                   "The Node object was deleted; its last known zone and addresses are kept.",
                   "");
SLUICE_LOG_MESSAGE(kNodeUnknown, "node-unknown", warning, "store", "node",
                   "The API server has no Node object of this name: zone and addresses are unknown.",
                   "Set --hostname-override to the name of the Node object.");

SLUICE_LOG_MESSAGE(kFaultInjected, "fault-injected", warning, "swap", "error",
                   "A test injected a fault.",
                   "");
SLUICE_LOG_MESSAGE(kLeftoverRetireFailed, "leftover-retire-failed", error, "swap", "backend error",
                   "Leftover state of a backend could not be removed.",
                   "Restart the daemon, or run sluiced --cleanup.");
SLUICE_LOG_MESSAGE(kLeftoverRetiring, "leftover-retiring", info, "swap", "backend seconds",
                   "The daemon drains and removes leftover state of another backend.",
                   "");
SLUICE_LOG_MESSAGE(kPluginUnloaded, "plugin-unloaded", info, "swap", "",
                   "The plugin of a retired backend was unmapped, or could not be unmapped.",
                   "");
SLUICE_LOG_MESSAGE(kRestoreFailed, "restore-failed", error, "swap", "backend error",
                   "After a failed swap the old backend could not write its rules yet; the daemon retries.",
                   "See the error.");
SLUICE_LOG_MESSAGE(kRetireFailed, "retire-failed", warning, "swap", "backend error",
                   "The old backend could not remove its kernel state; the daemon retries.",
                   "See the error.");
SLUICE_LOG_MESSAGE(kRetireGivenUp, "retire-given-up", error, "swap", "backend",
                   "The daemon gave up removing kernel state of the old backend.",
                   "Run sluiced --cleanup, or restart the daemon.");
SLUICE_LOG_MESSAGE(kRetired, "retired", info, "swap", "backend",
                   "The old backend has removed its kernel state.",
                   "");
SLUICE_LOG_MESSAGE(kSwapRemark, "swap-remark", warning, "swap", "error",
                   "A remark of a swap that failed.",
                   "");
SLUICE_LOG_MESSAGE(kSwapStep, "swap-step", debug, "swap", "step",
                   "A step of a swap begins.",
                   "");

SLUICE_LOG_MESSAGE(kClaimsFailed, "claims-failed", warning, "sync", "backend family error",
                   "The backend could not list its kernel objects; the daemon retries.",
                   "");
SLUICE_LOG_MESSAGE(kDriftRepair, "drift-repair", warning, "sync", "backend family error",
                   "The kernel differs from the delivered state: another process changed rules. The daemon repairs "
                   "them.",
                   "Find the other process: a firewall manager, a second proxy, an administrator.");
SLUICE_LOG_MESSAGE(kNotProgrammed, "not-programmed", error, "sync", "backend family service error",
                   "A service port, or one of its addresses, is not programmed. The daemon retries it.",
                   "Fix the Service, or what the error names.");
SLUICE_LOG_MESSAGE(kNotProgrammedAgain, "not-programmed-again", debug, "sync", "backend family service error",
                   "A service port is still not programmed.",
                   "");
SLUICE_LOG_MESSAGE(kResync, "resync", info, "sync", "backend family reason",
                   "A full resync was requested, with the reason.",
                   "");
SLUICE_LOG_MESSAGE(kResyncByBackend, "resync-by-backend", info, "sync", "backend family reason",
                   "The backend asked for a full transaction in place of a delta.",
                   "");
SLUICE_LOG_MESSAGE(kResyncRetry, "resync-retry", info, "sync", "backend family count",
                   "A full resync retries service ports that are not programmed.",
                   "");
SLUICE_LOG_MESSAGE(kSyncFailed, "sync-failed", error, "sync", "backend family generation error",
                   "An apply failed. A failure that a retry may solve is a warning. The next transaction is full.",
                   "See the error and the runbook of SluiceSyncFailures.");
SLUICE_LOG_MESSAGE(kSynced, "synced", info, "sync", "backend family generation count seconds",
                   "A transaction is in the kernel. The first one of a process is logged at level info, the others "
                   "at debug.",
                   "");
SLUICE_LOG_MESSAGE(kVerifyFailed, "verify-failed", warning, "sync", "backend family error",
                   "The backend could not compare the kernel with the delivered state.",
                   "See the error.");

#undef SLUICE_LOG_MESSAGE

}  // namespace sluice::base::message
