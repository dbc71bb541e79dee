import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { type Bin, run, start } from '../cli/bin.js'
import { type RequestOptions, request } from './raw-client.js'
import { temporary } from './store-kinds.js'

/** Tries until a change must have reached a process: far more than it takes. */
const MAX_TRIES = 400
const PAUSE_MS = 25

export interface KeyStage {
  readonly file: string
  /** Runs `gateway keys …`; the result must be success. */
  keys(...args: readonly string[]): Promise<string>
  /** `keys create` or `keys rotate`: the new secret. */
  secretOf(...args: readonly string[]): Promise<string>
  /** Another gateway as a process on the same file. */
  serve(): Promise<KeyProcess>
}

export interface KeyProcess {
  readonly bin: Bin
  readonly origin: string
  /** Status of a chat completion with that key. */
  status(key: string, options?: RequestOptions): Promise<number>
  /** Asks until the status is that one, a bounded number of times; the last status. */
  reaches(status: number, key: string): Promise<number>
}

/** Gateways as processes on one file, and its command. */
export function keyStage(t: Test, store: string, more = ''): KeyStage {
  const file = join(temporary(t), 'gateway.yaml')
  writeFileSync(
    file,
    `version: 1
listen: { port: 0 }
store: ${store}
keys: { caller: { secret: { env: CALLER_KEY } } }
upstreams: { sim: { kind: simulator } }
models: { "sim-*": sim }
${more}`,
  )
  const env = { CALLER_KEY: 'the-key-of-the-caller-0123456789' }
  const keys = async (...args: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await run(['keys', ...args, '-f', file], { env })
    if (code !== 0) throw new Error(`keys ${args.join(' ')}: ${stderr}`)
    return stdout
  }
  return {
    file,
    keys,
    secretOf: async (...args) => JSON.parse(await keys(...args, '--json')).key,
    serve: async () => {
      const bin = start(t, ['serve', file, '--no-watch'], { env })
      const [, origin = ''] = await bin.until(/"address":"([^"]+)"/)
      const status = async (key: string, options: RequestOptions = {}): Promise<number> => {
        const body = { model: 'sim-text', messages: [{ role: 'user', content: 'Hello.' }] }
        return (await request(t, origin, '/v1/chat/completions', { key, body, ...options })).status
      }
      return { bin, origin, status, reaches: (wanted, key) => reached(wanted, () => status(key)) }
    },
  }
}

/** Asks until the answer is that one, a bounded number of times; the last answer. */
export async function reached<T>(wanted: T, ask: () => Promise<T>): Promise<T> {
  let last = await ask()
  for (let tries = 0; last !== wanted && tries < MAX_TRIES; tries++) {
    await new Promise(resolve => setTimeout(resolve, PAUSE_MS))
    last = await ask()
  }
  return last
}

/** A key that the command creates, rotates and revokes is so in every process on the store. */
export async function proveSharing(t: Test, store: string): Promise<void> {
  const stage = keyStage(t, store)
  const [one, two] = [await stage.serve(), await stage.serve()]
  const secret = await stage.secretOf('create', 'ann')
  t.equal(await one.reaches(200, secret), 200)
  t.equal(await two.reaches(200, secret), 200)

  const next = await stage.secretOf('rotate', 'ann')
  t.equal(await one.reaches(401, secret), 401, 'the former secret is refused')
  t.equal(await two.reaches(401, secret), 401)
  t.equal(await one.status(next), 200)
  t.equal(await two.status(next), 200)

  const last = await stage.secretOf('rotate', 'ann', '--keep', '1h')
  t.equal(await one.status(last), 200)
  t.equal(await two.status(next), 200, 'the former secret works on for a while')

  await stage.keys('revoke', 'ann')
  for (const process of [one, two]) {
    for (const key of [last, next]) t.equal(await process.reaches(401, key), 401)
  }
  const again = await stage.secretOf('create', 'ann')
  t.equal(await one.reaches(200, again), 200, 'the name can be used again')
  t.equal(await one.status(last), 401)
}
