// SPDX-License-Identifier: Apache-2.0
// Every role is an indexed Job: its pods are numbered and end with their process. Pods are not
// restarted, as a restarted member could not join. Written without a YAML library: each value is
// quoted as JSON, which is valid YAML.
#include "tools/launch/plan/kubernetes.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <vector>

#include "common/version.h"
#include "tools/launch/plan/environment.h"

namespace stretto::launch {
namespace {

constexpr std::uint32_t kSchedulerPort = 9700;
constexpr std::uint32_t kMasterPort = 29500;
constexpr std::size_t kMaxName = 40;  // With suffixes, pod names stay within 63 characters.
constexpr std::string_view kLower = "abcdefghijklmnopqrstuvwxyz0123456789";
constexpr std::string_view kIndex =
    "metadata.annotations['batch.kubernetes.io/job-completion-index']";

std::string json_string(std::string_view text) {
  std::string json = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      json += fmt::format("\\{}", c);
    } else if (byte < 0x20 || byte == 0x7f) {
      json += fmt::format("\\u{:04x}", byte);
    } else {
      json += c;
    }
  }
  return json + "\"";
}

// Kubernetes expands $(NAME) in commands and values, and replaces every $$ by $.
std::string literal(std::string_view text) {
  std::string escaped;
  for (const char c : text) escaped += c == '$' ? "$$" : std::string(1, c);
  return json_string(escaped);
}

bool is_label(std::string_view text) {
  return !text.empty() && text.size() <= kMaxName && text.front() != '-' && text.back() != '-' &&
         text.find_first_not_of(std::string(kLower) + "-") == std::string_view::npos;
}

bool is_quantity(std::string_view text) {
  constexpr std::string_view kUnits[] = {"", "m", "k", "Ki", "M", "Mi", "G", "Gi", "T", "Ti"};
  const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::string_view number = text.substr(0, digits);
  return !number.empty() && number.front() != '.' && number.back() != '.' &&
         std::count(number.begin(), number.end(), '.') <= 1 &&
         std::find(std::begin(kUnits), std::end(kUnits), text.substr(digits)) != std::end(kUnits);
}

Status refused(std::string_view flag, std::string_view found, std::string_view wanted) {
  return {Code::kInvalidArgument, fmt::format("{} is '{}', wanted {}", flag, found, wanted)};
}

Status check_words(const Plan& plan) {
  const Manifest& words = plan.manifest;
  const std::string label =
      fmt::format("up to {} lower-case letters, digits and inner hyphens", kMaxName);
  if (!is_label(words.name)) return refused("--name", words.name, label);
  if (!words.space.empty() && !is_label(words.space)) {
    return refused("--namespace", words.space, label);
  }
  if (!is_quantity(words.processors)) {
    return refused("--cpus", words.processors, "a number as Kubernetes writes it, as 2 or 500m");
  }
  if (!is_quantity(words.memory)) {
    return refused("--memory", words.memory, "bytes as Kubernetes writes them, as 4Gi");
  }
  return {};
}

class ManifestWriter {
 public:
  ManifestWriter(const Plan& plan, const std::string& token)
      : plan_(plan), words_(plan.manifest), token_(token) {}

  std::string all() {
    heading();
    secret();
    service("scheduler", "scheduler", scheduler_port(), false);
    service("workers", "worker", kMasterPort, true);
    job("scheduler", "scheduler", 1, {program("stretto-scheduler")}, "100m", "128Mi");
    if (plan_.servers != 0) {
      job("servers", "server", plan_.server_processes(), {program("stretto-server")},
          words_.processors, words_.memory);
    }
    job("workers", "worker", plan_.workers, plan_.command, words_.processors, words_.memory);
    return text_;
  }

 private:
  template <typename... Arguments>
  void line(int depth, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    text_.append(static_cast<std::size_t>(depth) * 2, ' ');
    fmt::format_to(std::back_inserter(text_), format, std::forward<Arguments>(arguments)...);
    text_ += '\n';
  }

  std::string image() const {
    return words_.image.empty() ? fmt::format("registry.example/stretto:{}", kVersion)
                                : words_.image;
  }

  std::string program(std::string_view name) const {
    const std::string& folder = plan_.program_directory;
    return folder.empty() ? std::string(name) : fmt::format("{}/{}", folder, name);
  }

  void heading() {
    line(0, "# A Stretto job of {} workers and {} servers; written by stretto-launch {}.",
         plan_.workers, plan_.servers, kVersion);
    line(0,
         "# kubectl apply -f FILE starts it, kubectl delete -f FILE removes it. Needs Kubernetes");
    line(0, "# {} or newer. The job has done its work when the Job {}-workers is complete.",
         plan_.least_workers == 0 ? "1.24" : "1.29", words_.name);
    if (plan_.least_workers != 0) {
      line(0, "# A Job of which a pod was lost for good ends as failed, whatever the others did.");
    }
    if (words_.image.empty()) {
      line(0, "# The image is a placeholder: --image says which one has your program, and");
      line(0, "# {} in its PATH.",
           plan_.servers == 0 ? "stretto-scheduler" : "stretto-scheduler and stretto-server");
    }
    if (!plan_.checkpoint.empty()) {
      line(0, "# These manifests mount nothing: mount one volume in every pod at the folder of");
      line(0, "# checkpoints, which all pods share.");
    }
    if (token_.empty()) {
      line(0,
           "# The token is empty, and the scheduler refuses to start so: put a secret of your own");
      line(0, "# there, or set STRETTO_JOB_TOKEN before you print this.");
    }
  }

  void labels(int depth, std::string_view component) {
    line(depth, "app.kubernetes.io/name: \"stretto\"");
    line(depth, "app.kubernetes.io/instance: {}", json_string(words_.name));
    if (!component.empty()) line(depth, "app.kubernetes.io/component: {}", json_string(component));
  }

  void begin(std::string_view version, std::string_view kind, std::string_view suffix,
             std::string_view component) {
    line(0, "---");
    line(0, "apiVersion: {}", version);
    line(0, "kind: {}", kind);
    line(0, "metadata:");
    line(1, "name: {}", json_string(fmt::format("{}-{}", words_.name, suffix)));
    if (!words_.space.empty()) line(1, "namespace: {}", json_string(words_.space));
    line(1, "labels:");
    labels(2, component);
  }

  void secret() {
    begin("v1", "Secret", "token", "");
    line(0, "type: Opaque");
    line(0, "stringData:");
    line(1, "token: {}", json_string(token_));
  }

  // Headless if pods are called by their own names; otherwise a virtual address, which resolves
  // before any pod runs.
  void service(std::string_view suffix, std::string_view component, std::uint32_t port,
               bool headless) {
    begin("v1", "Service", suffix, component);
    line(0, "spec:");
    if (headless) {
      line(1, "clusterIP: \"None\"");
      line(1, "publishNotReadyAddresses: true");
    }
    line(1, "selector:");
    labels(2, component);
    line(1, "ports:");
    line(2, "- name: {}", json_string(headless ? "master" : "scheduler"));
    line(3, "protocol: \"TCP\"");
    line(3, "port: {}", port);
    line(3, "targetPort: {}", port);
  }

  void job(std::string_view suffix, std::string_view component, std::uint32_t pods,
           const std::vector<std::string>& command, std::string_view processors,
           std::string_view memory) {
    begin("batch/v1", "Job", suffix, component);
    line(0, "spec:");
    line(1, "completionMode: \"Indexed\"");
    line(1, "completions: {}", pods);
    line(1, "parallelism: {}", pods);
    if (component == "worker" && plan_.least_workers != 0) {
      losses();
    } else {
      line(1, "backoffLimit: 0");
    }
    line(1, "template:");
    line(2, "metadata:");
    line(3, "labels:");
    labels(4, component);
    line(2, "spec:");
    if (component == "worker") {
      line(3, "subdomain: {}", json_string(fmt::format("{}-workers", words_.name)));
    }
    line(3, "restartPolicy: \"Never\"");
    line(3, "terminationGracePeriodSeconds: {}", grace_seconds());
    line(3, "automountServiceAccountToken: false");
    line(3, "enableServiceLinks: false");
    line(3, "containers:");
    line(4, "- name: {}", json_string(component));
    line(5, "image: {}", json_string(image()));
    std::string words;
    for (const std::string& word : command) words += (words.empty() ? "" : ", ") + literal(word);
    line(5, "command: [{}]", words);
    if (!plan_.directory.empty()) line(5, "workingDir: {}", json_string(plan_.directory));
    if (component != "server") {
      line(5, "ports:");
      line(6, "- containerPort: {}", component == "worker" ? kMasterPort : scheduler_port());
    }
    environment(component);
    line(5, "resources:");
    line(6, "requests: {{cpu: {}, memory: {}}}", json_string(processors), json_string(memory));
    line(6, "limits: {{memory: {}}}", json_string(memory));
  }

  // A replacement pod joins while the job runs; an index without a pod does not end the job.
  void losses() {
    const std::uint32_t spare = plan_.workers - plan_.least_workers;
    line(1, "backoffLimit: {}", plan_.restarts + spare);
    line(1, "backoffLimitPerIndex: {}", plan_.restarts);
    line(1, "maxFailedIndexes: {}", spare);
  }

  void variable(std::string_view name, std::string_view value) {
    line(6, "- {{name: {}, value: {}}}", json_string(name), literal(value));
  }
  void field(std::string_view name, std::string_view path) {
    line(6, "- {{name: {}, valueFrom: {{fieldRef: {{fieldPath: {}}}}}}}", json_string(name),
         json_string(path));
  }

  void environment(std::string_view component) {
    const std::string scheduler = fmt::format("{}-scheduler", words_.name);
    const std::string workers = std::to_string(plan_.workers);
    line(5, "env:");
    variable("STRETTO_ROLE", component);
    field("STRETTO_RANK", kIndex);
    variable("STRETTO_WORLD_SIZE", workers);
    if (plan_.least_workers != 0) {
      variable("STRETTO_MIN_WORKERS", std::to_string(plan_.least_workers));
    }
    variable("STRETTO_SERVERS", std::to_string(plan_.servers));
    variable("STRETTO_SHARDS", std::to_string(plan_.shards));
    if (plan_.replicas > 1) variable("STRETTO_REPLICAS", std::to_string(plan_.replicas));
    variable("STRETTO_SCHEDULER", fmt::format("{}:{}", scheduler, scheduler_port()));
    variable("STRETTO_BIND_HOST", "::");  // Pods may have addresses of either family.
    field("STRETTO_NODE_HOST", "status.podIP");
    line(6, "- name: \"STRETTO_JOB_TOKEN\"");
    line(7, "valueFrom:");
    line(8, "secretKeyRef: {{name: {}, key: \"token\"}}",
         json_string(fmt::format("{}-token", words_.name)));
    if (plan_.encrypt) variable("STRETTO_ENCRYPT", "1");
    if (plan_.start_timeout) variable("STRETTO_RENDEZVOUS_TIMEOUT_S", *plan_.start_timeout);
    for (const auto& [name, value] : checkpoint_variables(plan_)) variable(name, value);
    variable("DMLC_ROLE", component);
    variable("DMLC_PS_ROOT_URI", scheduler);
    variable("DMLC_PS_ROOT_PORT", std::to_string(scheduler_port()));
    variable("DMLC_NUM_WORKER", workers);
    variable("DMLC_NUM_SERVER", std::to_string(plan_.servers));
    variable("PYTHONUNBUFFERED", "1");
    if (component == "server" && plan_.port != 0) {
      variable("STRETTO_SERVER_PORT", std::to_string(plan_.port + 1));
    }
    if (component == "worker") worker_environment(workers);
    for (const auto& [name, value] : plan_.added_environment) {
      if (name != "STRETTO_ENCRYPT") variable(name, value);  // Written above.
    }
  }

  void worker_environment(const std::string& workers) {
    field("DMLC_WORKER_ID", kIndex);
    variable("BYTEPS_LOCAL_RANK", "0");
    variable("BYTEPS_LOCAL_SIZE", "1");
    field("RANK", kIndex);
    variable("LOCAL_RANK", "0");
    variable("WORLD_SIZE", workers);
    variable("LOCAL_WORLD_SIZE", "1");
    variable("MASTER_ADDR", fmt::format("{0}-workers-0.{0}-workers", words_.name));
    variable("MASTER_PORT", std::to_string(kMasterPort));
  }

  // Kubernetes counts whole seconds. Without --grace pods have 30 s.
  std::int64_t grace_seconds() const {
    const bool given =
        std::ranges::find(plan_.given, Flag::kGrace, &GivenFlag::flag) != plan_.given.end();
    return given ? std::chrono::ceil<std::chrono::seconds>(plan_.limits.grace).count() : 30;
  }

  std::uint32_t scheduler_port() const { return plan_.port != 0 ? plan_.port : kSchedulerPort; }

  const Plan& plan_;
  const Manifest& words_;
  const std::string& token_;
  std::string text_;
};

}  // namespace

Result<std::string> manifests(const Plan& plan, const std::string& token) {
  if (Status status = check_words(plan); !status.ok()) return status;
  return ManifestWriter(plan, token).all();
}

}  // namespace stretto::launch
