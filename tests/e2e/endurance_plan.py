# SPDX-License-Identifier: Apache-2.0
"""Draws from a seed an elastic job and its faults, in sequence and overlapping (endurance.py)."""

import dataclasses
import random
import re

MODES = ("sync", "eager", "bounded", "async", "eager_async")
AMONG = ("direct", "ring", "halving", "tree", "hierarchical")  # Sync, among workers.
DEAD = 5.0  # STRETTO_DEAD_AFTER_S, its default,
SHORT = 3.0  # a shorter fault must cost no member,
MENDED = 20.0  # and a fault of this length costs its victim in any case.
PLACES = {"local": 5, "relay": 3, "net": 3}  # With their weights.
TRANSPORTS = {"local": ("tcp", "zmq", "shm", "fabric"), "relay": ("tcp", "zmq"),
              "net": ("tcp", "zmq", "fabric")}
ALL_TRANSPORTS = TRANSPORTS["local"]


@dataclasses.dataclass
class Fault:
    """A fault: its kind and victim, `gap` seconds after the previous one, and its duration."""
    kind: str
    gap: float
    victim: str = ""
    seconds: float = 0.0
    way: tuple = ()
    fatal: bool = False  # The victim must be lost; otherwise no member may.
    early: bool = True  # A fatal one ends as soon as the others have expelled the victim.
    at: float = None  # When it happened, by time.monotonic(); None: it did not.
    missed: bool = False  # It had no effect, as a rare or short one may: it does not count.

    def may_miss(self):
        """True if a few packets or chunks decide whether it has an effect."""
        rare = self.kind in ("lossy", "corrupt")
        return rare or (self.kind == "reset" and bool(self.seconds))

    def text(self):
        parts = [self.kind, self.victim, *(str(word) for word in self.way),
                 f"{self.seconds:.2f} s" if self.seconds else "", "fatal" if self.fatal else ""]
        return " ".join(part for part in parts if part)


@dataclasses.dataclass
class Plan:
    """A job."""
    number: int
    place: str
    transport: str
    modes: tuple
    workers: int
    least: int
    servers: int
    elements: int
    host_of: int  # The worker on a separate host, in namespaces.
    faults: list
    below: bool  # At the end too many are killed.
    churn: bool = False  # Workers join and are lost continuously.
    restarts: int = 0  # Number of replacements by the launcher.

    def text(self):
        told = "; ".join(fault.text() for fault in self.faults)
        return (f"job {self.number}: {self.place} {self.transport} {'+'.join(self.modes)}, "
                f"{self.workers} workers of which {self.least} must stay, {self.servers} servers, "
                f"{self.elements} elements{', at last too few' if self.below else ''}"
                f"{f', churn, {self.restarts} restarts' if self.churn else ''}: {told}")


HARMLESS = {
    "local": {"stop": 4, "nap": 2},
    "relay": {"stop": 2, "reset": 4, "hush": 3, "corrupt": 2, "delay": 2},
    "net": {"stop": 1, "drop": 3, "reset": 3, "large": 2, "lossy": 2, "pull": 2},
}
FATAL = {
    "local": {"kill": 5, "two": 2, "stop": 1},
    "relay": {"kill": 5, "two": 2, "stop": 1},
    "net": {"kill": 5, "stop": 1, "drop": 1, "pull": 1, "large": 1},
}


def pick(chance, weights):
    return chance.choices(list(weights), list(weights.values()))[0]


def drawn(number, seed, places, transports=ALL_TRANSPORTS):
    """A random job: the same for the same numbers."""
    chance = random.Random(f"{seed} {number}")
    place = pick(chance, {name: PLACES[name] for name in places})
    transport = chance.choice([name for name in TRANSPORTS[place] if name in transports])
    workers = chance.randrange(2, 7)
    least = chance.randrange(1, max(2, workers - 1))
    modes = draw_modes(chance, 0.4)
    plan = Plan(number, place, transport, modes, workers, least, chance.randrange(1, 3),
                64 * chance.choice((10, 300, 3000)), chance.randrange(workers), [],
                chance.random() < 0.15)
    lost, budget = [], workers - least
    for _ in range(chance.randrange(8, 17)):
        left = [name for name in range(workers) if name not in lost]
        fatal = budget > len(lost) and chance.random() < 0.6
        kind = pick(chance, (FATAL if fatal else HARMLESS)[place])
        if kind == "two" and budget < len(lost) + 2:
            kind = "kill"
        fault = draw_fault(chance, plan, kind, left, fatal)
        if fault is None:
            continue
        plan.faults.append(fault)
        lost += [int(rank) for rank in re.findall(r"\d+", fault.victim)] if fatal else []
    return plan


def draw_modes(chance, all_of_them):
    """The modes of a job's tensors: most modes at once, with that probability, or one; often also
    one exchanged among workers."""
    modes = MODES[:4] if chance.random() < all_of_them else (chance.choice(MODES),)
    return modes + ((chance.choice(AMONG),) if chance.random() < 0.5 else ())


CHURN = {"kill": 5, "two": 1, "join": 5, "harmless": 5}


def churning(number, seed, places, pace, transports=ALL_TRANSPORTS):
    """A job with joins and losses, of 2 to 10 workers at a time, an event every 1 to 5 s times
    `pace`. The victim is chosen when a fault happens, among the members at that time. The same for
    the same numbers.
    """
    chance = random.Random(f"{seed} {number} churn")
    place = pick(chance, {name: PLACES[name] for name in places})
    transport = chance.choice([name for name in TRANSPORTS[place] if name in transports])
    workers = chance.randrange(3, 11)
    modes = draw_modes(chance, 0.3)
    plan = Plan(number, place, transport, modes, workers, chance.randrange(1, 3),
                chance.randrange(1, 3), 64 * chance.choice((10, 300)), chance.randrange(workers),
                [], False, True)
    if place == "local" and chance.random() < 0.6:
        plan.restarts = 40  # More than are ever lost.
    for _ in range(chance.randrange(8, 17)):
        kind = pick(chance, CHURN)
        gap = chance.uniform(1.0, 5.0) * pace
        if kind == "harmless":
            fault = draw_fault(chance, plan, pick(chance, HARMLESS[place]), list(range(workers)),
                               False)
            if fault is not None:
                fault.gap = gap
                plan.faults.append(fault)
            continue
        plan.faults.append(Fault(kind, gap, fatal=kind != "join", way=(chance.random(),
                                                                      chance.random())))
    return plan


def draw_fault(chance, plan, kind, left, fatal):
    """A fault of that kind; None without a victim for it."""
    gap = chance.choice((0.0, chance.uniform(0.0, 0.05), chance.uniform(0.0, 0.6)))
    short = min(SHORT, 0.5 + chance.expovariate(2.0))
    fault = Fault(kind, gap, fatal=fatal, seconds=short, early=chance.random() < 0.7)
    if kind in ("kill", "two"):
        fault.victim = " ".join(f"worker {rank}" for rank in
                                chance.sample(left, 2 if kind == "two" else 1))
        fault.seconds = 0.0
    elif kind == "stop":
        fault.victim = f"worker {chance.choice(left)}"
        fault.seconds = chance.uniform(DEAD + 2.0, DEAD + 6.0) if fatal else short
        if fatal and chance.random() < 0.05:
            fault.seconds = 60.0
    elif kind == "nap":
        fault.victim = chance.choice(["scheduler"] +
                                     [f"server {rank}" for rank in range(plan.servers)])
    elif plan.place == "relay":
        fault.way = {"hush": chance.choice((("server",), ("client",), ("server", "client"))),
                     "reset": (chance.randrange(1, 12),),
                     "corrupt": (chance.choice((0.001, 0.001, 0.01)),),
                     "delay": (0.05, 0.02)}[kind]
        fault.seconds = 0.0 if kind == "reset" else short
    else:  # Of the host that only one worker uses.
        if plan.host_of not in left:
            return None
        fault.victim = f"worker {plan.host_of}"
        fault.seconds = MENDED if fatal else short
        far = "server" if kind == "large" or chance.random() < 0.6 else "scheduler"
        ways = ("to worker", f"to {far}", "both")
        fault.way = () if kind == "pull" else (far, chance.choice(ways))
        if kind == "reset":
            fault.seconds = chance.uniform(0.0, 0.3)
    return fault
