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
                   "Only the plugin of another backend can remove this leftover state, and the plugin is not "
                   "installed.",
                   "Install the plugin again and restart the daemon.");
SLUICE_LOG_MESSAGE(kLeftoverNone, "leftover-none", debug, "cleanup", "",
                   "The check after the first sync found no leftover state of other modes.",
                   "");
SLUICE_LOG_MESSAGE(kLeftoverNotRemoved, "leftover-not-removed", warning, "cleanup", "error",
                   "Leftover state of another mode could not be removed.",
                   "Fix the cause that the line names and restart the daemon, or stop it and run sluiced --cleanup.");
SLUICE_LOG_MESSAGE(kLeftoverChainInUse, "leftover-chain-in-use", warning, "cleanup", "error",
                   "A chain of another mode was flushed but not removed, because a rule of another program refers to "
                   "it.",
                   "Remove that rule, then restart the daemon.");
SLUICE_LOG_MESSAGE(kLeftoverRemoved, "leftover-removed", info, "cleanup", "name",
                   "Leftover state of another mode was removed after the first sync.",
                   "");
SLUICE_LOG_MESSAGE(kLeftoverServersDraining, "leftover-servers-draining", info, "cleanup", "count",
                   "Virtual servers of another mode stay until their connections end or the drain timeout expires.",
                   "");

SLUICE_LOG_MESSAGE(kConntrackFailed, "conntrack-failed", warning, "conntrack", "family error",
                   "Stale UDP flows of an address family cannot be removed; the daemon retries. Logged once until a "
                   "scan succeeds.",
                   "Grant CAP_NET_ADMIN and load nf_conntrack_netlink; see docs/udp-flows.md.");
SLUICE_LOG_MESSAGE(kConntrackRecovered, "conntrack-recovered", info, "conntrack", "family",
                   "Stale UDP flows are removed again after earlier failures.",
                   "");
SLUICE_LOG_MESSAGE(kConntrackScanned, "conntrack-scanned", debug, "conntrack", "family count seconds",
                   "A scan of the conntrack table has ended. count is the number of removed flows.",
                   "");
SLUICE_LOG_MESSAGE(kConntrackStateUnreadable, "conntrack-state-unreadable", warning, "conntrack", "family file error",
                   "The list of frontends of the earlier process is unreadable. UDP flows to Services that were "
                   "deleted while no daemon ran stay until they time out.",
                   "");
SLUICE_LOG_MESSAGE(kConntrackStateUnwritable, "conntrack-state-unwritable", warning, "conntrack", "family file error",
                   "The list of frontends for the next process could not be written. UDP flows to Services that are "
                   "deleted while no daemon runs stay until they time out.",
                   "Check that the state directory is writable and has space.");

SLUICE_LOG_MESSAGE(kBackendStartSlow, "backend-start-slow", warning, "daemon", "backend",
                   "The start of a backend has not returned for 10 seconds or more.",
                   "Check for a process that holds the xtables lock; see runbook SluiceXtablesLockContention.");
SLUICE_LOG_MESSAGE(kCleanupBackendDone, "cleanup-backend-done", info, "daemon", "backend",
                   "--cleanup removed all kernel state of a backend.",
                   "");
SLUICE_LOG_MESSAGE(kCleanupDone, "cleanup-done", info, "daemon", "",
                   "--cleanup has ended. The line names the leftover state that it removed; each failure has a line "
                   "of its own.",
                   "");
SLUICE_LOG_MESSAGE(kCleanupFailed, "cleanup-failed", error, "daemon", "error",
                   "--cleanup could not remove some state.",
                   "Follow the remedy in the line and run --cleanup again.");
SLUICE_LOG_MESSAGE(kCleanupChainInUse, "cleanup-chain-in-use", warning, "daemon", "error",
                   "--cleanup flushed a chain but did not remove it, because a rule of another program refers to it.",
                   "Remove that rule and run sluiced --cleanup again.");
SLUICE_LOG_MESSAGE(kConfigurationWarning, "configuration-warning", warning, "daemon", "error",
                   "The configuration has a deprecated, ignored or doubtful setting.",
                   "Change the setting that the line names; see docs/reference/errors.md.");
SLUICE_LOG_MESSAGE(kDaemonFailed, "daemon-failed", error, "daemon", "error",
                   "The daemon cannot start or continue, and exits with status 1.",
                   "Fix the cause that the line names. systemd starts the daemon again.");
SLUICE_LOG_MESSAGE(kDaemonStarting, "daemon-starting", info, "daemon", "version node backend",
                   "The daemon starts, with its version, node and backend.",
                   "");
SLUICE_LOG_MESSAGE(kDaemonStopping, "daemon-stopping", info, "daemon", "signal",
                   "The daemon stops on a signal. Rules stay in the kernel.",
                   "");
SLUICE_LOG_MESSAGE(kFamilyUnused, "family-unused", info, "daemon", "family error",
                   "The node or the backend does not support an address family. The daemon runs without it.",
                   "Enable the address family on the node if Services need it.");
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
                   "Mode auto has chosen a backend. The line has the reason.",
                   "");
SLUICE_LOG_MESSAGE(kReplayOfAnotherNode, "replay-of-another-node", warning, "daemon", "file node",
                   "The recording was made on another node, where other endpoints are local.",
                   "Set --hostname-override to the recorded node, or omit the flag.");
SLUICE_LOG_MESSAGE(kStartCompleted, "start-completed", info, "daemon", "seconds phases",
                   "Every address family has synced for the first time. The line has the time since the start, and the "
                   "phases that metric sluice_start_phase_seconds has, too.",
                   "");
SLUICE_LOG_MESSAGE(kStartAbandoned, "start-abandoned", warning, "daemon", "",
                   "A stop signal arrived while the start of a backend hung. The daemon exits with status 0.",
                   "");

SLUICE_LOG_MESSAGE(kEventFailed, "event-failed", warning, "events", "status",
                   "An event could not be written; the daemon retries it or gives it up, as the line says. Logged "
                   "once for each HTTP status.",
                   "Status 403: grant create and patch on events of events.k8s.io.");
SLUICE_LOG_MESSAGE(kEventRecorded, "event-recorded", debug, "events", "reason",
                   "An event was recorded for the API server.",
                   "");
SLUICE_LOG_MESSAGE(kEventsDropped, "events-dropped", warning, "events", "count",
                   "Too many events wait for the API server; the oldest are dropped. count is the size of the queue.",
                   "Check the connection to the API server; see docs/api-server.md.");

SLUICE_LOG_MESSAGE(kCaChanged, "ca-changed", info, "kube", "file",
                   "The CA certificate was replaced, and the new one is used.",
                   "");
SLUICE_LOG_MESSAGE(kCaMissing, "ca-missing", warning, "kube", "file",
                   "The service account has no ca.crt; the daemon trusts the CAs of the system.",
                   "Mount the service account with its ca.crt.");
SLUICE_LOG_MESSAGE(kClientCertificateChanged, "client-certificate-changed", info, "kube", "file",
                   "The client certificate was replaced, and the new one is used.",
                   "");
SLUICE_LOG_MESSAGE(kClientCertificateExpired, "client-certificate-expired", warning, "kube", "file",
                   "The client certificate has expired.",
                   "Renew it, or correct the clock of the node.");
SLUICE_LOG_MESSAGE(kCredentialKept, "credential-kept", warning, "kube", "error",
                   "A token, CA certificate or client certificate could not be read again; the daemon keeps the last "
                   "one.",
                   "Fix the file that the line names.");
SLUICE_LOG_MESSAGE(kCredentialReadable, "credential-readable", info, "kube", "name",
                   "A token, CA certificate or client certificate can be read again after a failure.",
                   "");
SLUICE_LOG_MESSAGE(kEndpointsFallback, "endpoints-fallback", warning, "kube", "server",
                   "The API server offers no EndpointSlices. The daemon reads Endpoints, without topology hints and "
                   "terminating endpoints.",
                   "Use an API server that offers discovery.k8s.io/v1.");
SLUICE_LOG_MESSAGE(kEndpointslicesAvailable, "endpointslices-available", info, "kube", "server",
                   "The API server offers EndpointSlices now; the daemon reads them in place of Endpoints.",
                   "");
SLUICE_LOG_MESSAGE(kFieldSelectorUnknown, "field-selector-unknown", info, "kube", "resource",
                   "The API server does not know a field selector; the daemon lists without it.",
                   "");
SLUICE_LOG_MESSAGE(kObjectIgnored, "object-ignored", debug, "kube", "object reason",
                   "An object does not concern this proxy. The line has the reason.",
                   "");
SLUICE_LOG_MESSAGE(kObjectProblem, "object-problem", warning, "kube", "object error",
                   "An object is invalid. If a part is invalid, the rest of the object is used; otherwise its last "
                   "valid state is kept.",
                   "Fix the object; see runbook SluiceUnusableObjects.");
SLUICE_LOG_MESSAGE(kObjectProblemsSuppressed, "object-problems-suppressed", warning, "kube", "resource",
                   "1,000 objects of a kind have problems; further ones are not logged.",
                   "Fix the objects of the object-problem lines.");
SLUICE_LOG_MESSAGE(kRequestFailed, "request-failed", warning, "kube", "request error count",
                   "A request to the API server failed; the daemon retries with increasing pauses. Logged at the 1st, "
                   "4th, 16th, 64th failure for the same reason, and so on; the first three answers 403 are not logged.",
                   "See docs/api-server.md and runbook SluiceAPIServerConnectionLost.");
SLUICE_LOG_MESSAGE(kRequestLimitWait, "request-limit-wait", warning, "kube", "path",
                   "A request waits for more than a second for the client-side rate limit. Logged at most once an "
                   "hour.",
                   "Raise clientConnection.qps and clientConnection.burst; see runbook SluiceClientRateLimited.");
SLUICE_LOG_MESSAGE(kRequestRecovered, "request-recovered", info, "kube", "request count",
                   "A request to the API server succeeds again.",
                   "");
SLUICE_LOG_MESSAGE(kResourceAbsent, "resource-absent", info, "kube", "resource reason",
                   "The API server lacks an optional kind of object; the daemon works without it. The line names the "
                   "effect.",
                   "");
SLUICE_LOG_MESSAGE(kResourceForbidden, "resource-forbidden", warning, "kube", "resource error",
                   "The daemon may not list an optional kind of object and works without it; it retries every few "
                   "minutes.",
                   "Grant what ClusterRole system:node-proxier grants.");
SLUICE_LOG_MESSAGE(kStreamingSwitchInvalid, "streaming-switch-invalid", warning, "kube", "value",
                   "KUBE_FEATURE_WatchListClient has an invalid value and is ignored: lists are streamed.",
                   "Set the environment variable to true or false.");
SLUICE_LOG_MESSAGE(kStreamingUnavailable, "streaming-unavailable", info, "kube", "reason",
                   "The API server does not offer streaming lists; the daemon uses list requests. Logged once.",
                   "");
SLUICE_LOG_MESSAGE(kWatchAvailable, "watch-available", info, "kube", "resource",
                   "The daemon watches a kind of object that the API server did not offer or allow before.",
                   "");
SLUICE_LOG_MESSAGE(kWatchEnded, "watch-ended", debug, "kube", "resource error",
                   "A watch ended with an error and resumes.",
                   "");
SLUICE_LOG_MESSAGE(kWatchEventSkipped, "watch-event-skipped", warning, "kube", "resource reason",
                   "A watch sends events of an unknown type or of another kind of object; the daemon ignores them.",
                   "Check the proxies between the node and the API server.");
SLUICE_LOG_MESSAGE(kWatchExpired, "watch-expired", debug, "kube", "resource",
                   "The API server no longer has the version of the watch, or does not have it yet; the daemon lists "
                   "again.",
                   "If it is frequent: see runbook SluiceFrequentRelists.");

SLUICE_LOG_MESSAGE(kDescriptorNotStored, "descriptor-not-stored", warning, "lifecycle", "backend name error",
                   "A socket is not handed to the next process: 16,000 sockets are stored already, or memory is "
                   "short. Its connections end with this process.",
                   "If all slots are in use: choose a mode that keeps no socket for each service port.");
SLUICE_LOG_MESSAGE(kDescriptorSendFailed, "descriptor-send-failed", warning, "lifecycle", "error",
                   "A message about a socket to store could not be sent to systemd or to the descriptor holder.",
                   "Read the error; report it if it persists.");
SLUICE_LOG_MESSAGE(kDescriptorStoreUnreachable, "descriptor-store-unreachable", warning, "lifecycle", "",
                   "systemd or the descriptor holder cannot be reached to store sockets; the daemon retries.",
                   "Check that systemd runs and that the socket $NOTIFY_SOCKET exists.");
SLUICE_LOG_MESSAGE(kDescriptorsUnknown, "descriptors-unknown", warning, "lifecycle", "count",
                   "systemd or the descriptor holder passed descriptors that the daemon did not store; the daemon "
                   "closes them.",
                   "");
SLUICE_LOG_MESSAGE(kDescriptorStoreEnded, "descriptor-store-ended", warning, "lifecycle", "",
                   "The descriptor holder ended while the daemon runs. The daemon starts it again and sends all "
                   "sockets.",
                   "Find out which program killed it.");
SLUICE_LOG_MESSAGE(kDescriptorRefused, "descriptor-refused", warning, "lifecycle", "name",
                   "The descriptor holder could not store a socket, because its limit of open files is too low.",
                   "Raise the limit of open files (ulimit -n) to 20000.");
SLUICE_LOG_MESSAGE(kHolderNotStarted, "holder-not-started", warning, "lifecycle", "error",
                   "The descriptor holder could not be started; the daemon retries. Until then, sockets end with the "
                   "process.",
                   "Fix the cause that the line names, or set descriptorHolderTimeout to 0s.");
SLUICE_LOG_MESSAGE(kHolderAbsent, "holder-absent", info, "lifecycle", "",
                   "The daemon is process 1 of its container, so a descriptor holder would end with it, and none runs "
                   "in another container.",
                   "To keep sockets over a restart, run sluiced --hold-descriptors in another container.");
SLUICE_LOG_MESSAGE(kHolderReplaced, "holder-replaced", info, "lifecycle", "version",
                   "The descriptor holder of another version of the daemon is replaced; the sockets are kept.",
                   "");
SLUICE_LOG_MESSAGE(kHolderUnusable, "holder-unusable", warning, "lifecycle", "error",
                   "The descriptor holder of the earlier process did not give its sockets. New sockets are opened, and "
                   "clients that waited are lost.",
                   "");
SLUICE_LOG_MESSAGE(kOwnershipLedgerNotUpdated, "ownership-ledger-not-updated", warning, "lifecycle", "error",
                   "The ownership ledger could not be written.",
                   "Check that the state directory is writable and has space.");
SLUICE_LOG_MESSAGE(kOwnershipLedgerUnreadable, "ownership-ledger-unreadable", warning, "lifecycle", "error",
                   "The ownership ledger is unreadable or of a newer format, and a new one is created. Leftover state "
                   "of other backends may stay.",
                   "If leftover state stays: stop the daemon and run sluiced --cleanup.");
SLUICE_LOG_MESSAGE(kModeDeprecated, "mode-deprecated", warning, "lifecycle", "backend",
                   "Kubernetes deprecated the active mode. Sluice continues to support it.",
                   "Consider another mode; see docs/reload-and-swap.md.");
SLUICE_LOG_MESSAGE(kSwapNotRolledBack, "swap-not-rolled-back", error, "lifecycle", "backend",
                   "The new backend is active although another part of the reload failed.",
                   "Fix the error of the reload-failed line and reload.");

SLUICE_LOG_MESSAGE(kManifestDuplicate, "manifest-duplicate", error, "manifests", "error",
                   "Two manifest files define the same object. The line names the file that is used.",
                   "Remove one of the definitions.");
SLUICE_LOG_MESSAGE(kManifestFolderUnreadable, "manifest-folder-unreadable", error, "manifests", "file error",
                   "The directory of manifests cannot be read; the daemon keeps its objects.",
                   "Restore the directory and its permissions.");
SLUICE_LOG_MESSAGE(kManifestInvalid, "manifest-invalid", error, "manifests", "file error",
                   "A manifest file has an error. The earlier content of the file is kept, or the rest of the file is "
                   "used, as the line says.",
                   "Fix the place that the line names.");
SLUICE_LOG_MESSAGE(kManifestFieldInvalid, "manifest-field-invalid", warning, "manifests", "file",
                   "A field of an object in a manifest file is invalid and is ignored or replaced; the rest of the "
                   "object is used.",
                   "Fix the field that the line names.");
SLUICE_LOG_MESSAGE(kManifestSkipped, "manifest-skipped", debug, "manifests", "file",
                   "An object in a manifest file does not concern this proxy.",
                   "");
SLUICE_LOG_MESSAGE(kManifestUnreadable, "manifest-unreadable", error, "manifests", "file error",
                   "A manifest file cannot be read; the daemon retries and keeps its earlier content.",
                   "Fix the cause that the line names, such as permissions.");
SLUICE_LOG_MESSAGE(kManifestsChanged, "manifests-changed", info, "manifests", "file count",
                   "Objects in the manifests changed.",
                   "");
SLUICE_LOG_MESSAGE(kManifestsPolled, "manifests-polled", warning, "manifests", "file",
                   "inotify is not available; the daemon polls the manifests.",
                   "Raise fs.inotify.max_user_instances.");
SLUICE_LOG_MESSAGE(kManifestsRead, "manifests-read", info, "manifests", "file count",
                   "The manifests were read for the first time.",
                   "");

SLUICE_LOG_MESSAGE(kAddressMonitorEnded, "address-monitor-ended", error, "node", "error",
                   "The daemon no longer follows the addresses of the node's interfaces.",
                   "Restart the daemon and report the error.");
SLUICE_LOG_MESSAGE(kAddressesUnreadable, "addresses-unreadable", warning, "node", "error",
                   "The addresses of the node's interfaces could not be read; the daemon retries.",
                   "If it persists: allow AF_NETLINK sockets (RestrictAddressFamilies of the unit).");
SLUICE_LOG_MESSAGE(kBridgeNetfilterOff, "bridge-netfilter-off", warning, "node", "",
                   "Packets between pods on one Linux bridge bypass the rules.",
                   "If pods are on a bridge: load br_netfilter and set net.bridge.bridge-nf-call-iptables to 1, for "
                   "IPv6 bridge-nf-call-ip6tables.");
SLUICE_LOG_MESSAGE(kConntrackLiberalUnreadable, "conntrack-liberal-unreadable", warning, "node", "error",
                   "net.netfilter.nf_conntrack_tcp_be_liberal could not be read; the daemon assumes 0.",
                   "Grant read access to /proc/sys/net/netfilter.");
SLUICE_LOG_MESSAGE(kConntrackSettingFailed, "conntrack-setting-failed", warning, "node", "error",
                   "A conntrack setting could not be written; the daemon runs with the value of the kernel.",
                   "Load nf_conntrack, grant write access to /proc/sys and /sys/module/nf_conntrack, or set the field "
                   "of conntrack to 0.");
SLUICE_LOG_MESSAGE(kLocalPodRangeMissing, "local-pod-range-missing", warning, "node", "node",
                   "clusterCIDR or spec.podCIDRs of the Node has only ranges of the other address family, not of the "
                   "node's primary one.",
                   "Add a range of each address family that the node uses.");
SLUICE_LOG_MESSAGE(kNodeAddressesChanged, "node-addresses-changed", warning, "node", "node",
                   "The addresses of the Node object changed. The daemon uses the earlier ones until a restart.",
                   "Restart the daemon to use the changed addresses.");
SLUICE_LOG_MESSAGE(kNodeAddressesMissing, "node-addresses-missing", warning, "node", "node",
                   "The Node object has no addresses yet. The daemon uses them when they appear.",
                   "If it persists: check the kubelet or the cloud controller manager, which write status.addresses.");
SLUICE_LOG_MESSAGE(kNodePortAddressIgnored, "node-port-address-ignored", warning, "node", "",
                   "A loopback address that nodePortAddresses selects does not serve node ports.",
                   "Remove the address from nodePortAddresses. For IPv4, turn on localhostNodePorts if the mode "
                   "supports it.");
SLUICE_LOG_MESSAGE(kNodePortsOnAllAddresses, "node-ports-on-all-addresses", warning, "node", "",
                   "nodePortAddresses is empty, or has no range of an address family: node ports are served on all "
                   "addresses of that family.",
                   "Set nodePortAddresses to primary, or to ranges of each address family.");
SLUICE_LOG_MESSAGE(kOomScoreFailed, "oom-score-failed", warning, "node", "error",
                   "The OOM score adjustment could not be set.",
                   "Grant CAP_SYS_RESOURCE or change oomScoreAdj.");

SLUICE_LOG_MESSAGE(kBackendCallSlow, "backend-call-slow", warning, "plugin", "backend call milliseconds",
                   "A backend call has returned after its time limit.",
                   "Check the load of the node and the number of rules; see runbook SluiceBackendOverdue.");
SLUICE_LOG_MESSAGE(kPluginLoaded, "plugin-loaded", info, "plugin", "file backend version",
                   "A plugin was loaded.",
                   "");
SLUICE_LOG_MESSAGE(kPluginMetricDropped, "plugin-metric-dropped", warning, "plugin", "backend name error",
                   "A backend reported an invalid metric, which is dropped. Logged once for each reason.",
                   "Report it to the author of the backend.");
SLUICE_LOG_MESSAGE(kPluginNotUnloaded, "plugin-not-unloaded", info, "plugin", "file error",
                   "The plugin of a retired backend stays mapped. It costs memory only, and the line names what holds "
                   "it.",
                   "Report it to the author of the backend if a thread or another library holds it.");
SLUICE_LOG_MESSAGE(kPluginOwnershipUnchecked, "plugin-ownership-unchecked", warning, "plugin", "file",
                   "A plugin was loaded without the check of its owner, because relaxPluginOwnership is true.",
                   "Set relaxPluginOwnership to false in production.");
SLUICE_LOG_MESSAGE(kPluginUnloadedLate, "plugin-unloaded-late", info, "plugin", "file",
                   "A plugin was unmapped after a part of the daemon that still used it ended.",
                   "");

SLUICE_LOG_MESSAGE(kRecordingEnded, "recording-ended", error, "record", "file error",
                   "The recording has ended because the disk is full, too slow or fails. It can be replayed; the "
                   "daemon continues.",
                   "Remove the cause, and restart the daemon to record again.");
SLUICE_LOG_MESSAGE(kRecordingNotTruncated, "recording-not-truncated", warning, "record", "file error",
                   "An incomplete last line of the recording could not be removed. A replay ignores it.",
                   "");
SLUICE_LOG_MESSAGE(kRecordingStarted, "recording-started", info, "record", "file",
                   "The daemon records the events of its source to a file.",
                   "");

SLUICE_LOG_MESSAGE(kFileReadable, "file-readable", info, "reload", "file",
                   "The configuration file or a file it names can be read again.",
                   "");
SLUICE_LOG_MESSAGE(kFileUnreadable, "file-unreadable", warning, "reload", "file error",
                   "The configuration file or a file it names cannot be read; the daemon keeps its last content.",
                   "Restore the file and its permissions.");
SLUICE_LOG_MESSAGE(kFileWatchPolling, "file-watch-polling", warning, "reload", "file",
                   "inotify cannot watch the configuration files; the daemon polls them.",
                   "Raise fs.inotify.max_user_watches or fs.inotify.max_user_instances if the line says so.");
SLUICE_LOG_MESSAGE(kReloadDone, "reload-done", info, "reload", "trigger",
                   "A reload was applied. The line names the changes.",
                   "");
SLUICE_LOG_MESSAGE(kReloadFailed, "reload-failed", error, "reload", "trigger error",
                   "A reload failed; the running configuration is kept, or a part of the new one is applied, as the "
                   "line says.",
                   "Fix the error and reload; see runbook SluiceReloadFailed.");
SLUICE_LOG_MESSAGE(kReloadUnchanged, "reload-unchanged", info, "reload", "trigger",
                   "A reload found no change.",
                   "");
SLUICE_LOG_MESSAGE(kReloadWarning, "reload-warning", warning, "reload", "error",
                   "The new configuration has a deprecated, ignored or doubtful setting.",
                   "Change the setting that the line names; see docs/reference/errors.md.");

SLUICE_LOG_MESSAGE(kRecordingTruncated, "recording-truncated", warning, "replay", "file error",
                   "The last line of the recording is truncated and is ignored.",
                   "");
SLUICE_LOG_MESSAGE(kReplayDone, "replay-done", info, "replay", "file count",
                   "All events of the recording were replayed; the daemon keeps the replayed state.",
                   "");
SLUICE_LOG_MESSAGE(kReplayFailed, "replay-failed", error, "replay", "file error",
                   "The replay ended early; the daemon keeps the replayed state.",
                   "Record again.");
SLUICE_LOG_MESSAGE(kReplayStarted, "replay-started", info, "replay", "file count",
                   "The daemon replays a recording instead of connecting to an API server.",
                   "");

SLUICE_LOG_MESSAGE(kControlSocketClosed, "control-socket-closed", error, "serve", "error",
                   "The control socket failed. sluicectl does not work until a restart.",
                   "Restart the daemon; report the error.");
SLUICE_LOG_MESSAGE(kHealthConnectionFailed, "health-connection-failed", error, "serve", "error",
                   "An unexpected error ended a connection to a health check node port; the port stays open.",
                   "Report the error.");
SLUICE_LOG_MESSAGE(kHealthPortFailed, "health-port-failed", warning, "serve", "service error",
                   "A health check node port cannot be opened; load balancers consider the node down, and the daemon "
                   "retries.",
                   "Stop the process that has the port, or change spec.healthCheckNodePort of the Service.");
SLUICE_LOG_MESSAGE(kHealthPortRecovered, "health-port-recovered", info, "serve", "service port",
                   "A health check node port is open after earlier failures.",
                   "");
SLUICE_LOG_MESSAGE(kHttpConnectionFailed, "http-connection-failed", error, "serve", "name error",
                   "An unexpected error ended a connection to an HTTP listener; the listener stays open.",
                   "Report the error.");
SLUICE_LOG_MESSAGE(kHttpRequestFailed, "http-request-failed", error, "serve", "error",
                   "An HTTP request failed with an internal error; the client receives status 500.",
                   "Report the error.");
SLUICE_LOG_MESSAGE(kListenFailed, "listen-failed", warning, "serve", "name address error",
                   "An HTTP listener cannot bind its address; the daemon retries.",
                   "Stop the process that has the port, or change healthzBindAddress or metricsBindAddress.");
SLUICE_LOG_MESSAGE(kListening, "listening", info, "serve", "name address",
                   "An HTTP listener is open.",
                   "");
SLUICE_LOG_MESSAGE(kListeningRecovered, "listening-recovered", info, "serve", "name address",
                   "An HTTP listener is open after earlier failures.",
                   "");

SLUICE_LOG_MESSAGE(kNodeDeleted, "node-deleted", warning, "store", "node",
                   "The Node object was deleted; the daemon keeps its last known zone and addresses.",
                   "");
SLUICE_LOG_MESSAGE(kNodeUnknown, "node-unknown", warning, "store", "node",
                   "No Node object has the name of this node: zone and addresses are unknown.",
                   "If the name is wrong, set --hostname-override to the name of the Node object.");

SLUICE_LOG_MESSAGE(kFaultInjected, "fault-injected", warning, "swap", "error",
                   "A test build injected a fault.",
                   "");
SLUICE_LOG_MESSAGE(kLeftoverRetireFailed, "leftover-retire-failed", error, "swap", "backend error",
                   "The plugin for leftover state of another backend could not be loaded or started; the state stays.",
                   "Fix the cause and restart the daemon, or stop it and run sluiced --cleanup.");
SLUICE_LOG_MESSAGE(kLeftoverRetiring, "leftover-retiring", info, "swap", "backend seconds",
                   "The daemon drains and removes leftover state of another backend.",
                   "");
SLUICE_LOG_MESSAGE(kPluginUnloaded, "plugin-unloaded", info, "swap", "file",
                   "The plugin of a retired backend was unmapped.",
                   "");
SLUICE_LOG_MESSAGE(kRestoreFailed, "restore-failed", error, "swap", "backend error",
                   "After a failed swap, the old backend could not restore its rules yet; the daemon retries.",
                   "Fix the error; see runbook SluiceSwapFailed.");
SLUICE_LOG_MESSAGE(kRetireFailed, "retire-failed", warning, "swap", "backend error",
                   "A retiring backend could not remove its kernel state; the daemon retries.",
                   "Fix the error; see runbook SluiceDrainStuck.");
SLUICE_LOG_MESSAGE(kRetireGivenUp, "retire-given-up", error, "swap", "backend",
                   "A retiring backend could not remove its kernel state in time; the state stays.",
                   "Fix the errors above and restart the daemon, or stop it and run sluiced --cleanup.");
SLUICE_LOG_MESSAGE(kRetired, "retired", info, "swap", "backend",
                   "The old backend, or after a failed swap the new one, has removed its kernel state.",
                   "");
SLUICE_LOG_MESSAGE(kSwapRemark, "swap-remark", warning, "swap", "error",
                   "Further information about a swap that failed, such as kernel state that is not removed yet.",
                   "See runbook SluiceSwapFailed.");
SLUICE_LOG_MESSAGE(kSwapStep, "swap-step", debug, "swap", "step",
                   "A step of a swap begins.",
                   "");

SLUICE_LOG_MESSAGE(kClaimsFailed, "claims-failed", warning, "sync", "backend family error",
                   "The backend could not list its kernel objects for the ownership ledger; the daemon retries.",
                   "");
SLUICE_LOG_MESSAGE(kDriftRepair, "drift-repair", warning, "sync", "backend family error",
                   "The kernel differs from the delivered state, usually because another process changed rules. The "
                   "daemon repairs it.",
                   "Find the other process, such as a firewall manager or a second proxy; see runbook "
                   "SluiceRepeatedDrift.");
SLUICE_LOG_MESSAGE(kNotProgrammed, "not-programmed", error, "sync", "backend family service error",
                   "A service port, or one of its addresses, is not programmed; the daemon retries it. Logged once "
                   "for each reason.",
                   "Fix the Service, or what the error names; see runbook SluiceServicePortsNotProgrammed.");
SLUICE_LOG_MESSAGE(kNotProgrammedAgain, "not-programmed-again", debug, "sync", "backend family service error",
                   "A service port is still not programmed, for the same reason.",
                   "");
SLUICE_LOG_MESSAGE(kResync, "resync", info, "sync", "backend family reason",
                   "The backend or the rollback of a swap requested a full resync. The line has the reason.",
                   "");
SLUICE_LOG_MESSAGE(kResyncInsteadOfDelta, "resync-instead-of-delta", info, "sync", "backend family reason",
                   "The backend cannot apply a delta, and receives a full transaction in its place.",
                   "");
SLUICE_LOG_MESSAGE(kResyncRetry, "resync-retry", info, "sync", "backend family count",
                   "A full resync retries service ports that are not programmed.",
                   "");
SLUICE_LOG_MESSAGE(kSyncCancelled, "sync-cancelled", info, "sync", "backend family generation seconds",
                   "The daemon stops, or another backend takes over, and the backend ended its sync early. The next "
                   "full transaction, of this process or of the next, completes it.",
                   "");
SLUICE_LOG_MESSAGE(kSyncFailed, "sync-failed", error, "sync", "backend family generation error",
                   "A sync failed, and the next transaction is full. The level is warning if the backend expects that "
                   "a retry succeeds.",
                   "Fix the error; see runbook SluiceSyncFailures.");
SLUICE_LOG_MESSAGE(kSynced, "synced", info, "sync", "backend family generation count seconds",
                   "A transaction is in the kernel. The level is info for the first one of a process and debug for "
                   "the others.",
                   "");
SLUICE_LOG_MESSAGE(kVerifyFailed, "verify-failed", warning, "sync", "backend family error",
                   "The backend could not compare the kernel with the delivered state; the next check retries.",
                   "Fix the error that the line names.");

#undef SLUICE_LOG_MESSAGE

}  // namespace sluice::base::message
