// The gateway as a user starts it: the shipped file, a folder of its own, and its log, read line by line.
import { spawn } from 'node:child_process'
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '../free-port.mjs'
import { collect, killGroup } from './processes.mjs'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const START_TIMEOUT_MS = 60_000
const LOG_TIMEOUT_MS = 30_000
const POLL_MS = 50
const MAX_END_CHARACTERS = 4000
export const KEY = 'key-of-the-client-programs'

/**
 * Starts `gateway serve gateway.yaml` in a new folder, of the shipped file or of `text`, which may be a function of the origin.
 * `newRequests()` gives the request lines since the last call.
 */
export async function startGateway(folder, text, variables = {}) {
  const origin = `http://127.0.0.1:${await freePort()}`
  mkdirSync(folder, { recursive: true })
  if (text === undefined) copyFileSync(join(ROOT, 'gateway.yaml'), join(folder, 'gateway.yaml'))
  else writeFileSync(join(folder, 'gateway.yaml'), typeof text === 'function' ? text(origin) : text)
  const { PATH } = process.env
  const child = spawn(
    process.execPath,
    [join(ROOT, 'bin/gateway.js'), 'serve', 'gateway.yaml', '--port', new URL(origin).port],
    {
      cwd: folder,
      env: { PATH, HOME: folder, GATEWAY_KEY: KEY, ...variables },
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  )
  process.on('exit', () => killGroup(child, 'SIGKILL'))
  const log = new RequestLog()
  collect(child.stdout, text => log.take(text))
  collect(child.stderr, text => log.take(text))
  const ended = new Promise(resolve => child.once('exit', resolve))
  const headers = { authorization: `Bearer ${KEY}` }
  await until(START_TIMEOUT_MS, 'the gateway does not start', async () => {
    if (child.exitCode !== null) throw new Error(`the gateway ended with ${child.exitCode}: ${log.end}`)
    return (await fetch(`${origin}/readyz`).catch(() => undefined))?.ok
  })
  return {
    origin,
    /** A request of our own comes last in the log: once its line is there, so are those of the program. */
    async newRequests() {
      const response = await fetch(`${origin}/v1/models`, { headers })
      await response.arrayBuffer()
      const id = response.headers.get('x-request-id')
      await until(LOG_TIMEOUT_MS, 'the log does not come', () => log.lines.some(line => line.id === id))
      return log.lines.splice(0).filter(line => line.id !== id)
    },
    async stop() {
      killGroup(child, 'SIGTERM')
      await ended
    },
  }
}

class RequestLog {
  lines = []
  tail = ''
  /** What it wrote last, for messages. */
  end = ''

  take(text) {
    this.end = (this.end + text).slice(-MAX_END_CHARACTERS)
    const lines = (this.tail + text).split('\n')
    this.tail = lines.pop()
    for (const line of lines)
      if (line.startsWith('{') && line.includes('"msg":"request"')) this.lines.push(JSON.parse(line))
  }
}

async function until(timeoutMs, complaint, holds) {
  for (const end = Date.now() + timeoutMs; !(await holds()); ) {
    if (Date.now() > end) throw new Error(complaint)
    await new Promise(resolve => setTimeout(resolve, POLL_MS))
  }
}
