#!/usr/bin/env node
// A free port for a server that starts later. As a program, prints one.
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { fileURLToPath } from 'node:url'

/**
 * Below the ports that the system gives to connections and to whoever asks for any: those may be taken between the choice
 * and the use. A node of a Redis cluster has a second port, 10,000 above its first.
 */
const FIRST_PORT = 10_000
const PORTS = 10_000

/** A port of the loopback interface that no one listens on now. */
export async function freePort() {
  for (;;) {
    const port = FIRST_PORT + randomInt(PORTS)
    const server = createServer().listen(port, '127.0.0.1')
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    )
    if (!isFree) continue
    server.close()
    await once(server, 'close')
    return port
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log(await freePort())
