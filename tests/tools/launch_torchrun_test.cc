// SPDX-License-Identifier: Apache-2.0
// Flags of torchrun: their effect on the job, and the errors for flags that cannot be honoured.
#include <gtest/gtest.h>

#include "tools/launch/plan/arguments.h"
#include "tools/launch/plan/placement.h"
#include "tools/launch/plan/start_methods.h"
#include "tools/launch/plan/torchrun.h"

namespace stretto::launch {
namespace {

using Words = std::vector<std::string>;

Plan planned(Words words) {
  words.emplace_back("train");
  const Result<Plan> plan = parse_arguments(words, nullptr);
  EXPECT_TRUE(plan.ok()) << plan.status().text();
  return plan.ok() ? *plan : Plan{};
}

std::string complaint(Words words) {
  words.emplace_back("train");
  return parse_arguments(words, nullptr).status().cause();
}

bool is_nowhere(const std::string&) { return false; }

TEST(LaunchTorchrun, ProcessesPerNodeAreWorkers) {
  for (const Words& words : {Words{"--nproc-per-node", "3"}, Words{"--nproc_per_node=3"},
                             Words{"--standalone", "--nproc-per-node=3"},
                             Words{"--nnodes=1", "--nproc-per-node=3", "--node-rank=0"},
                             Words{"--nnodes=1:1", "--nproc_per_node=3"}}) {
    const Plan plan = planned(words);
    EXPECT_EQ(plan.workers, 3u) << words[0];
    EXPECT_EQ(plan.least_workers, 0u) << words[0];
    EXPECT_TRUE(check_flags(plan, StartMethod::kLocal, is_nowhere).ok()) << words[0];
  }
  EXPECT_EQ(planned({"--nnodes=1"}).workers, 1u);
}

TEST(LaunchTorchrun, ProcessesPerNodeAreSlotsOfEachHost) {
  const Plan plan = planned({"-H", "a,b", "--nproc-per-node=4", "--nnodes=2"});
  EXPECT_EQ(plan.workers, 8u);
  EXPECT_EQ(plan.hosts, (std::vector<HostSlots>{{"a", 4}, {"b", 4}}));
  EXPECT_EQ(plan.servers, 2u);
  EXPECT_EQ(planned({"-H", "a:2,b:3", "--nnodes=2"}).workers, 5u) << "slots decide";
}

TEST(LaunchTorchrun, ARangeOfNodesMakesAnElasticJob) {
  const Plan plan = planned({"-H", "a,b,c", "--nproc-per-node=2", "--nnodes=2:4"});
  EXPECT_EQ(plan.least_workers, 4u);
  EXPECT_EQ(plan.workers, 8u) << "fewer slots make it six, as for --workers 4:8";
  EXPECT_EQ(planned({"-H", "a", "--nnodes=1:2"}).least_workers, 1u);
}

TEST(LaunchTorchrun, RendezvousNamesTheScheduler) {
  const Plan plan = planned({"--rdzv-endpoint=localhost:29400", "--rdzv-backend=c10d",
                             "--rdzv_id=job7", "--max-restarts=3"});
  EXPECT_EQ(plan.scheduler_host, "localhost");
  EXPECT_EQ(plan.port, 29400u);
  EXPECT_EQ(plan.name, "job7");
  EXPECT_EQ(plan.restarts, 3u);
  EXPECT_EQ(planned({"--rdzv_endpoint=node1"}).scheduler_host, "node1");
  EXPECT_EQ(planned({"--rdzv-endpoint=localhost:0"}).port, 0u);
  EXPECT_EQ(complaint({"--rdzv-endpoint=:1:"}),
            "--rdzv-endpoint is ':1:', wanted HOST:PORT: where the job's scheduler listens, port 0 "
            "for a free one");
}

TEST(LaunchTorchrun, MasterIsAVariableOfWorkers) {
  const Plan plan = planned({"--master-addr=10.0.0.1", "--master_port=29500"});
  EXPECT_EQ(plan.added_environment, (std::vector<std::pair<std::string, std::string>>{
                                        {"MASTER_ADDR", "10.0.0.1"}, {"MASTER_PORT", "29500"}}));
  EXPECT_EQ(complaint({"--master-port=x"}),
            "--master-port is 'x', wanted a whole number from 1 to 65535");
}

TEST(LaunchTorchrun, ContradictionsNameTheRemedy) {
  EXPECT_EQ(complaint({"--nproc-per-node=gpu"}),
            "--nproc-per-node is 'gpu', wanted a whole number: the launcher counts no devices; "
            "$(nproc) is the number of processors, and nvidia-smi -L lists GPUs");
  EXPECT_EQ(complaint({"--nproc-per-node=2", "-n", "2"}),
            "--nproc-per-node counts the workers of each host, and --workers those of the job; "
            "give one of them");
  EXPECT_NE(complaint({"--nnodes=1:2", "-n", "2"}).find("elastic job"), std::string::npos);
  EXPECT_EQ(complaint({"--node-rank=1"}),
            "--node-rank is 1, wanted also --nnodes N and --rdzv-endpoint HOST:PORT of node 0, on "
            "each host and without -H");
  EXPECT_EQ(complaint({"--standalone", "-H", "a,b"}),
            "--standalone is for a job of one host, and there are 2; leave it out");
  EXPECT_EQ(complaint({"-H", "a,b", "--nnodes=3"}),
            "--nnodes is 3, and 2 hosts are named; name as many, or leave it out");
  EXPECT_EQ(complaint({"-H", "a", "--nnodes=2:3"}),
            "--nnodes is 2:3, and 1 hosts are named; name as many, or leave it out");
  EXPECT_EQ(complaint({"--nnodes=4096", "--nproc-per-node=4096"}),
            "4096 workers on each of 4096 hosts are 16777216, wanted 4096 at most");
  EXPECT_EQ(complaint({"--rdzv-backend=etcd"}),
            "--rdzv-backend is 'etcd', wanted c10d or static: processes meet at the job's "
            "scheduler; leave it out");
}

TEST(LaunchTorchrun, AnEndpointMakesNodesOfLaunchers) {
  const Words words{"--nnodes=3", "--nproc-per-node=2", "--rdzv-endpoint=a:29400"};
  Words second = words;
  second.emplace_back("--node-rank=1");
  const Plan plan = planned(second);
  EXPECT_EQ(plan.via, Via::kNodes);
  EXPECT_EQ(plan.node_rank, 1u);
  EXPECT_EQ(planned(words).node_rank, std::nullopt);
  EXPECT_EQ(plan.meeting_point.host, "a");
  EXPECT_EQ(plan.meeting_point.port, 29400);
  EXPECT_EQ(plan.port, 0u) << "the scheduler has a port of its own";
  EXPECT_EQ(plan.workers, 6u);
  EXPECT_EQ(plan.servers, 3u) << "one on each node, as on each host by ssh";
  const Result<Placement> placement = place(plan, {}, is_nowhere);
  ASSERT_TRUE(placement.ok()) << placement.status().text();
  EXPECT_EQ(placement->site_of, (std::vector<std::size_t>{0, 0, 1, 2, 0, 0, 1, 1, 2, 2}));
  EXPECT_TRUE(placement->sites[0].here);
  EXPECT_EQ(placement->sites[1].name, "node 1");
}

TEST(LaunchTorchrun, NodesAreChecked) {
  const Words nodes{"--nnodes=2", "--rdzv-endpoint=a:29400"};
  const auto with = [&](const Words& more) {
    Words words = nodes;
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  EXPECT_EQ(complaint(with({"--node-rank=2"})),
            "--node-rank is 2, wanted less than --nnodes, which is 2");
  EXPECT_EQ(complaint(with({"--nnodes=1:2"})),
            "--nnodes is 1:2, wanted one number where each host runs this command; an elastic job "
            "names its hosts by -H HOST,... or --hostfile FILE");
  EXPECT_NE(complaint(with({"--restarts=1", "--checkpoint=c"})).find("leave out --restarts"),
            std::string::npos);
  EXPECT_NE(check_flags(planned(with({"--starter=ssh"})), StartMethod::kNodes, is_nowhere)
                .cause()
                .find("has no effect with --nnodes and --rdzv-endpoint"),
            std::string::npos);
}

TEST(LaunchTorchrun, SeveralNodesNeedNamedHosts) {
  const Plan plan = planned({"--nnodes=2", "--nproc-per-node=2"});
  EXPECT_EQ(check_flags(plan, StartMethod::kLocal, is_nowhere).cause(),
            "--nnodes 2 has no effect with --via local: one launcher starts the processes of all "
            "hosts: run it once and name the hosts by -H HOST,... or --hostfile FILE; or run it "
            "on each host with --rdzv-endpoint HOST:PORT of node 0 and --node-rank");
  EXPECT_TRUE(check_flags(plan, StartMethod::kSlurm, is_nowhere).ok());
  EXPECT_EQ(plan.workers, 4u);
  EXPECT_EQ(
      check_flags(planned({"--nproc-per-node=2"}), StartMethod::kSlurm, is_nowhere).cause(),
      "--nproc-per-node has no effect with --via slurm: give --nnodes N beside it, or -n for the "
      "whole job");
}

TEST(LaunchTorchrun, EqualBoundsOfNodesAreNumber) {
  EXPECT_EQ(planned({"--nnodes=2:2", "-H", "a:4,b:4"}).workers, 8u);
  EXPECT_EQ(planned({"--nnodes=2:2", "-n", "2"}).workers, 2u);
}

TEST(LaunchTorchrun, AddressesThatDifferAreRefused) {
  EXPECT_EQ(complaint({"--scheduler-host=h2", "--rdzv-endpoint=h3:5"}),
            "--scheduler-host is h2, and --rdzv-endpoint names h3: both say where the scheduler "
            "runs; give one of them");
  EXPECT_EQ(complaint({"--port=7", "--rdzv-endpoint=h3:5"}),
            "--port is 7, and --rdzv-endpoint has port 5: both say where the scheduler listens; "
            "give one of them");
  EXPECT_EQ(complaint({"--master-addr=h9", "--env=MASTER_ADDR=h8"}),
            "--master-addr is h9, and --env MASTER_ADDR is h8; give one of them");
  EXPECT_EQ(complaint({"--master-port=9", "--env=MASTER_PORT=8"}),
            "--master-port is 9, and --env MASTER_PORT is 8; give one of them");
  EXPECT_EQ(planned({"--port=5", "--rdzv-endpoint=h3:5", "--scheduler-host=h3"}).port, 5u);
  EXPECT_EQ(planned({"--port=7", "--nnodes=2", "--rdzv-endpoint=h3:5"}).port, 7u)
      << "launchers meet at 5, and the scheduler listens at 7";
}

TEST(LaunchTorchrun, RefusalNamesFlagThatWasGiven) {
  EXPECT_EQ(check_flags(planned({"--rdzv_endpoint=node9:29500", "-n", "2"}), StartMethod::kLocal,
                        is_nowhere)
                .cause(),
            "--rdzv-endpoint node9:29500 has no effect with --via local: all processes run on this "
            "host; leave it out, or name hosts by -H");
}

TEST(LaunchTorchrun, NodesByHandAreCheckedToo) {
  const Words nodes{"--nnodes=2", "--rdzv-endpoint=a:29400"};
  EXPECT_EQ(complaint({nodes[0], nodes[1], "--standalone"}),
            "--standalone is for a job of one host, and there are 2; leave it out");
  EXPECT_NE(complaint({nodes[0], nodes[1], "-m", "--no-python"}).find("leave one out"),
            std::string::npos);
}

// The allocation's node of each worker; the scheduler and one server come first.
std::vector<std::size_t> slurm_nodes(const Words& words, const std::string& tasks) {
  const Variables slurm{{"SLURM_JOB_ID", "5"}, {"SLURM_TASKS_PER_NODE", tasks}};
  const Result<Placement> placement = place(planned(words), slurm, is_nowhere);
  EXPECT_TRUE(placement.ok()) << placement.status().text();
  if (!placement.ok()) return {};
  return {placement->site_of.begin() + 2, placement->site_of.end()};
}

TEST(LaunchTorchrun, SlurmNodesHaveWorkersByFlags) {
  using Nodes = std::vector<std::size_t>;
  const Words two{"--nnodes=2", "--nproc-per-node=2"};
  EXPECT_EQ(slurm_nodes(two, "8(x2)"), (Nodes{1, 1, 2, 2}));
  EXPECT_EQ(slurm_nodes(two, "1(x2)"), (Nodes{1, 1, 2, 2})) << "as scripts for torchrun have it";
  EXPECT_EQ(slurm_nodes(two, "1(x4)"), (Nodes{1, 1, 2, 2}));
  EXPECT_EQ(slurm_nodes({"--nnodes=1", "--nproc-per-node=3"}, "2(x4)"), (Nodes{1, 1, 1}));
  EXPECT_EQ(slurm_nodes({"--nnodes=2"}, "8(x2)"), (Nodes{1, 2}));
  EXPECT_EQ(slurm_nodes({"--nnodes=2", "-n", "3"}, "2(x4)"), (Nodes{1, 1, 2}));
}

TEST(LaunchTorchrun, SlurmNeedsNodesThatAreGiven) {
  const Variables slurm{{"SLURM_JOB_ID", "5"}, {"SLURM_TASKS_PER_NODE", "8(x2)"}};
  EXPECT_EQ(
      place(planned({"--nnodes=3", "--nproc-per-node=1"}), slurm, is_nowhere).status().cause(),
      "--nnodes is 3, and Slurm job 5 has 2 nodes; ask for as many, as by salloc -N 3, or "
      "give --nnodes 2");
  Plan elastic = planned({"--nnodes=1:3", "--nproc-per-node=4"});
  const Allocation part = (*slurm_allocation(slurm))->part_for(elastic);
  EXPECT_EQ(part.slots, (std::vector<std::uint32_t>{4, 4}));
  elastic.workers = workers_that_fit(elastic, part.all_slots());
  EXPECT_EQ(elastic.workers, 8u);
  EXPECT_TRUE(place(elastic, slurm, is_nowhere).ok());
}

TEST(LaunchTorchrun, MpiChoosesNodesByItself) {
  const Plan plan = planned({"--nnodes=2", "--nproc-per-node=2", "--via=mpi"});
  EXPECT_EQ(check_flags(plan, StartMethod::kMpi, is_nowhere).cause(),
            "--nnodes has no effect with --via mpi: mpirun chooses the node of each rank; name the "
            "hosts by -H or --hostfile, or give -n for the whole job");
}

}  // namespace
}  // namespace stretto::launch
