import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { packageRoot } from '../../src/core/package-root.js'
import { Bin } from '../cli/bin.js'

/** A change of a task, as the log tells it. */
export interface Change {
  readonly task: string
  readonly from: string
  readonly to: string
}

export const CALLER_SECRET = 'the-key-of-the-caller-0123456789'
const HOOK_SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'

/** The lives of a gateway on one configuration: it is killed, and begins again. */
export class Lives {
  readonly #file: string
  #bin: Bin | undefined
  /** What the logs of all lives tell of tasks. */
  readonly changes: Change[] = []
  /** What all ended lives wrote to their logs. */
  log = ''
  origin = ''
  kills = 0

  constructor(t: Test, yaml: string) {
    const folder = mkdtempSync(join(tmpdir(), 'gateway-lives-'))
    this.#file = join(folder, 'gateway.yaml')
    writeFileSync(this.#file, yaml)
    t.teardown(async () => {
      await this.kill()
      rmSync(folder, { recursive: true, force: true })
    })
  }

  async begin(): Promise<void> {
    const env = {
      ...{ CALLER_KEY: CALLER_SECRET, UPSTREAM_KEY: 'upstream', HOOK_SECRET },
      NODE_EXTRA_CA_CERTS: join(packageRoot(), 'test/fixtures/tls/first.pem'),
    }
    this.#bin = new Bin(['serve', this.#file, '--no-watch'], { env })
    const [, origin = ''] = await this.#bin.until(/"address":"([^"]+)"/)
    this.origin = origin
  }

  /** Waits until the log of this life says so, or has said so. */
  async says(pattern: RegExp): Promise<void> {
    await this.#bin?.until(pattern)
  }

  /** Ends it as nothing can be prepared for. */
  async kill(): Promise<void> {
    const bin = this.#bin
    if (bin === undefined) return
    this.#bin = undefined
    bin.child.kill('SIGKILL')
    this.kills++
    const { stderr } = await bin.ended
    this.log += stderr
    for (const line of stderr.split('\n').slice(0, -1))
      if (line.includes('"task changed"')) this.changes.push(JSON.parse(line))
  }
}
