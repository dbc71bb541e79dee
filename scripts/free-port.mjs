#!/usr/bin/env node
// A free port for a server that starts later. As a program, prints one.
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * Below the ports that the system gives to connections and to whoever asks for any: those may be taken between the choice
 * and the use. A node of a Redis cluster has a second port, 10,000 above its first.
 */
const FIRST_PORT = 10_000
const PORTS = 10_000

/** How long a chosen port is no one else's, so that the server it is for can come up. */
const CLAIM_MS = 60_000
const CLAIMS = join(tmpdir(), 'gateway-free-ports')

/** A port of the loopback interface that no one listens on now, and that no other process has just got from here. */
export async function freePort() {
  mkdirSync(CLAIMS, { recursive: true, mode: 0o777 })
  for (;;) {
    const port = FIRST_PORT + randomInt(PORTS)
    if (!isClaimed(port)) continue
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

/** Servers that share ports, as proxies do, would not notice that two of them have the same one. */
function isClaimed(port) {
  const file = join(CLAIMS, String(port))
  try {
    if (Date.now() - statSync(file, { throwIfNoEntry: false })?.mtimeMs > CLAIM_MS) rmSync(file, { force: true })
    writeFileSync(file, '', { flag: 'wx' })
    return true
  } catch (error) {
    if (error.code === 'EEXIST') return false
    throw error
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log(await freePort())
