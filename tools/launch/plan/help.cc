// SPDX-License-Identifier: Apache-2.0
// What --help prints.
#include "tools/launch/plan/arguments.h"

namespace stretto::launch {
namespace {

constexpr std::string_view kHelp = R"(usage: stretto-launch [FLAG]... [--] PROGRAM [ARG]...
       stretto-launch join HOST:PORT [--] PROGRAM [ARG]...
       stretto-launch join HOST:PORT --servers N [--place SERVER,...] [--port P] [--bin-dir DIR]

Starts a scheduler, servers and workers, here or on many hosts; each worker runs PROGRAM. Ends with
status 0 if every worker did, else with the status of the first failure (128 + signal for a signal;
127 if PROGRAM cannot be executed; 2 if the command line cannot be used) and one line ERROR on
stderr. docs/LAUNCHING.md tells more.

join runs PROGRAM here, as a worker that joins the elastic job whose scheduler is at HOST:PORT. Its
token is STRETTO_JOB_TOKEN, or on the launcher's host that of the job's file. With --servers it
starts N servers here instead, to which places of the job move while it runs: those of the hosts
that have most, or those that --place names. They give them back when this gets SIGTERM or SIGINT.

  stretto-launch -n 4 -- python3 train.py                   4 workers and a server on this host
  stretto-launch -H node1:2,node2:2 -- python3 train.py     2 workers on each of 2 hosts, by ssh
  stretto-launch -n 2:4 --restarts 8 -- python3 train.py    elastic: 4 workers, 2 are enough
  stretto-launch -n 4 --checkpoint DIR --restarts 3 -- python3 train.py
                                                            begins again from checkpoints
  stretto-launch -n 4 --page 8080 -- python3 train.py       a live page at http://127.0.0.1:8080/

what to start
  -n, -np, --workers N, --num-workers N  workers (default: 1, or the slots of the hosts)
  --workers MIN:MAX                      begins with MAX workers, and goes on while MIN are left
  --restarts K                           replaces K such workers, or else servers and scheduler;
                                         with --checkpoint: a job that fails begins again from there
  --checkpoint DIR                       where checkpoints are kept, the same folder on all hosts
  --checkpoint-every TIME|auto           when one is due again: 30s, 10m (60s); auto: by its cost
  --resume auto|no|DIR                   the newest of these, a new start, or DIR (auto)
  -s, --servers N, --num-servers N       servers (default: one on each host of -H and host
                                         files by ssh, else 1); 0: workers exchange without
  --shards N                             shards of each server (default 1)
  --replicas 1|2                         2: another server stands by for each, with all it has (1)
  --encrypt                              encrypts what is said between hosts, by the job's token
  --name NAME                            what stretto-top calls the job (default: as PROGRAM)
  --env NAME=VALUE                       a variable for every process; may be given more than once
  -m, --module                           PROGRAM is a module of Python
  --no-python                            runs a .py file by itself, not under this Python
  --chdir DIR, --wdir DIR                where processes run (default: here), on every host
  --bin-dir DIR                          where stretto-scheduler and stretto-server are, on every
                                         host (default: STRETTO_BIN_DIR, else beside stretto-launch)

where
  --via local|ssh|mpi|slurm, --launcher  what starts processes (default: ssh if another host is
                                         named, slurm in an allocation of Slurm's, else local)
  -H HOST[:SLOTS],...                    hosts by name, and how many workers each takes (1)
  --hostfile FILE                        the same, a line each: HOST slots=N
  --worker-hostfile FILE                 a worker for each line
  --server-hostfile FILE                 a server for each line (default: the hosts in turn)
  --oversubscribe                        more workers than slots are meant
  --scheduler-host HOST, --scheduler-ip  where the scheduler runs (default: here)
  --port P                               fixed ports, for firewalls: the scheduler listens at P, the
                                         servers' shards from P + 1 on (default 0: free ones)
  --interface NAME                       whose address is used, on every host (default:
                                         STRETTO_INTERFACE; else as the hosts see one another)
  --starter COMMAND                      instead of ssh, srun, mpirun (default: STRETTO_STARTER)

as torchrun names them
  --nproc-per-node N        workers of each host
  --nnodes N|MIN:MAX        hosts that -H, --hostfile or Slurm names (MIN:MAX: an elastic job), or
                            N hosts of which each runs this command
  --rdzv-endpoint HOST:PORT where those meet: node 0, which starts the job; with one command for
                            all hosts --scheduler-host and --port
  --node-rank R             which of them this is (default: by the endpoint)
  --rdzv-id NAME, --max-restarts K  --name, --restarts
  --master-addr HOST, --master-port P  MASTER_ADDR and MASTER_PORT of the workers
  --standalone, --rdzv-backend c10d|static
                            accepted; they change nothing

for Kubernetes
  --print k8s        print manifests, and start nothing; --name NAME, --namespace NAME, --image
                     IMAGE, --cpus N and --memory BYTES (of each server and worker) go into
                     them; the token is STRETTO_JOB_TOKEN

supervision (seconds)
  --start-timeout S  for all members to join (default: as long as their processes run)
  --settle S         after a failure, for the others to end by themselves (default 3)
  --drain S          after the last worker, for servers and scheduler to end (default 10)
  --grace S          between the notice to end (SIGTERM) and SIGKILL (default 20)

what to look at (stretto-top shows the jobs that run, stretto-trace records one)
  --page [HOST:]PORT     a live page of the job, as by STRETTO_PAGE_ADDRESS
  --metrics [HOST:]PORT  metrics for Prometheus, as by STRETTO_METRICS_ADDRESS: the scheduler at
                         PORT, servers and workers at the ports that follow
  --trace DIR            traces of the whole job, as by STRETTO_TRACE; stretto-trace merge joins
                         them

output
  --log-dir DIR      also append each process's output to DIR/ROLE-RANK.log
  --dry-run          print what would be started, and start nothing
  --check            look whether it could be started: programs, versions, limits
  --help, --version

Hyphens and underscores are alike; --name=value and --name value too.
SIGINT goes to every process of the job, as a terminal does it; a second one kills. SIGTERM and
SIGHUP go to the processes that were started, and not to their children, such as data loaders.
Standard input of every process is /dev/null. Nothing that the job started outlives the launcher.
If the launcher itself is killed with SIGKILL, the kernel kills the processes that it started here,
but not the children of those; on other hosts all are killed. The job's token is in no command line.
)";

}  // namespace

std::string_view help_text() { return kHelp; }

}  // namespace stretto::launch
