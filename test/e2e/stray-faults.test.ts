import { join } from 'node:path'
import t from 'tap'
import { start } from '../cli/bin.js'
import { canary, witness } from '../helpers/canaries.js'

// What a module of a user's own begins, and does not wait for, in a gateway that is a process of its own.

const SECRET = canary('upstream')

/** What fails when a check is asked, beside its answer. */
const STRAYS: Readonly<Record<string, string>> = {
  'a rejection that no one hears': 'void Promise.reject(new TypeError(process.env.SECRET))',
  'a rejection without a frame': 'void Promise.reject(process.env.SECRET)',
  'a timer that throws': 'setTimeout(() => { throw new RangeError(process.env.SECRET) })',
}

for (const [what, begins] of Object.entries(STRAYS)) {
  t.test(`${what} is logged, and the process continues`, async t => {
    const folder = t.testdir({
      'stray.mjs': `export const openCheck = () => ({ check() { ${begins}; return 'pass' } })`,
      'gateway.yaml': `version: 1
listen: { port: 0 }
store: { type: memory }
keys: { caller: { secret: { env: CALLER_KEY } } }
upstreams: { sim: { kind: simulator } }
models: { m: { upstream: sim, as: sim-text } }
checks: { stray: { type: ./stray.mjs } }
`,
    })
    const key = 'the-key-of-this-test-0123456789'
    const bin = start(t, ['serve', join(folder, 'gateway.yaml')], { bare: true, env: { CALLER_KEY: key, SECRET } })
    const [origin] = await bin.until(/http:\/\/127\.0\.0\.1:\d+/)
    const ask = async (): Promise<number> => {
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
      const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hello' }] })
      return (await fetch(`${origin}/v1/chat/completions`, { method: 'POST', headers, body })).status
    }
    t.equal(await ask(), 200)
    await bin.until(/a module failed beside its calls/)
    t.equal(await ask(), 200)
    t.equal(bin.child.exitCode, null)
    witness('log', Buffer.from(bin.stdout + bin.stderr))
    t.notMatch(bin.stdout + bin.stderr, SECRET)
  })
}
