// SPDX-License-Identifier: Apache-2.0
// RPC calls and responses. `rpc` runs client and server in one process; `rpc serve` prints its
// address and serves until its input ends; `rpc ADDRESS TEXT` calls it.
#include <stretto/rpc.h>

#include <cstdio>
#include <string>
#include <string_view>

namespace rpc = stretto::rpc;

std::string serve(rpc::Endpoint& server) {
  const auto shout = [](const rpc::Request& request, rpc::Reply reply) {
    reply.send(std::string(request.message.text()) + "!");
  };
  server.on("shout", shout).or_exit();
  return server.listen().or_exit();
}

void call(const std::string& address, const std::string& text) {
  rpc::Endpoint client = rpc::Endpoint::open().or_exit();
  const rpc::Peer peer = client.connect(address).or_exit();
  const rpc::Call large = client.call(peer, "shout", std::string(32 << 20, '.'));
  const rpc::Call urgent = client.call(peer, "shout", text, {.priority = 5});  // Overtakes `large`.
  std::puts(std::string(urgent.wait().or_exit().text()).c_str());
  large.cancel();
}

int main(int argc, char** argv) {
  const std::string_view first = argc > 1 ? argv[1] : "";
  const bool help = first == "--help" || first == "-h";
  if (help || argc > 3 || (argc == 2 && first != "serve")) {
    std::fprintf(help ? stdout : stderr, "usage: %s [serve | ADDRESS TEXT]\n", argv[0]);
    return help ? 0 : 2;
  }
  if (argc == 3) {
    call(argv[1], argv[2]);
    return 0;
  }
  rpc::Endpoint server = rpc::Endpoint::open().or_exit();
  const std::string address = serve(server);
  if (argc == 1) {
    call(address, "hello");
    return 0;
  }
  std::puts(address.c_str());
  std::fflush(stdout);
  while (std::getchar() != EOF) continue;
}
