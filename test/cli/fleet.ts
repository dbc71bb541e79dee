import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { ADMIN_SECRET } from '../helpers/admin.js'
import { freePort } from '../helpers/store-servers.js'
import { type Bin, start } from './bin.js'
import { GOOD, TEST_KEY } from './files.js'

export const ADDRESS = /^listening on (http:\/\/127\.0\.0\.1:\d+)$/m
export const SERVED = `${GOOD}admin: { port: 1, secret: { env: GATEWAY_ADMIN_KEY }, metrics: { open: true } }\nlog: { level: debug }\n`
export const ENV = { TEST_KEY, GATEWAY_ADMIN_KEY: ADMIN_SECRET }

/** Names of the models that a gateway lists. */
export async function models(origin: string): Promise<readonly string[]> {
  const answer = await fetch(`${origin}/v1/models`, { headers: { authorization: `Bearer ${TEST_KEY}` } })
  const { data = [] } = (await answer.json()) as { data?: readonly { id: string }[] }
  return data.map(one => one.id)
}

/** A gateway that follows a document, and its metrics. */
export class Fleet {
  readonly bin: Bin
  readonly #test: Test
  readonly #cwd: string
  readonly #args: readonly string[]
  readonly #admin: string

  private constructor(test: Test, cwd: string, args: readonly string[], env: Record<string, string>, port: number) {
    const own = ['--port', '0', '--admin-port', `${port}`, '--poll', '1s', '--cache', 'kept']
    this.bin = start(test, ['serve', ...args, ...own], { cwd, env: { ...ENV, ...env } })
    this.#test = test
    this.#cwd = cwd
    this.#args = args
    this.#admin = `http://127.0.0.1:${port}`
  }

  static async join(t: Test, address: string, ...more: readonly string[]): Promise<Fleet> {
    return Fleet.joinWith(t, {}, address, ...more)
  }

  /** `env` joins that of the gateway. */
  static async joinWith(t: Test, env: Record<string, string>, ...args: readonly string[]): Promise<Fleet> {
    const cwd = mkdtempSync(join(tmpdir(), 'gateway-fleet-'))
    const fleet = new Fleet(t, cwd, args, env, await freePort())
    t.teardown(() => rmSync(cwd, { recursive: true, force: true }))
    return fleet
  }

  /** Another one with the same arguments, which begins with what this one has kept. */
  async again(env: Record<string, string>): Promise<Fleet> {
    return new Fleet(this.#test, this.#cwd, this.#args, env, await freePort())
  }

  async origin(): Promise<string> {
    return (await this.bin.until(ADDRESS))[1] ?? ''
  }

  async metric(name: string): Promise<string> {
    const answer = await fetch(`${this.#admin}/metrics`, { headers: { authorization: `Bearer ${ADMIN_SECRET}` } })
    const lines = (await answer.text()).split('\n').filter(line => line.startsWith(name))
    return lines.join('\n')
  }
}

/** Keys in a folder of their own, since `testdir` is that of a gateway. */
export function signer(t: Test): { readonly folder: string; sign(text: string): Buffer } {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const folder = mkdtempSync(join(tmpdir(), 'gateway-signer-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const write = (file: string, key: KeyObject): void =>
    writeFileSync(join(folder, file), key.export({ type: 'spki', format: 'pem' }))
  write('fleet.pem', publicKey)
  write('other.pem', generateKeyPairSync('ed25519').publicKey)
  return { folder, sign: text => sign(null, Buffer.from(text), privateKey) }
}
