import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Worker } from 'node:worker_threads'
import t, { type Test } from 'tap'
import { FileDrafts } from '../../src/runtime/draft.js'
import { loadPlan } from '../../src/runtime/load.js'
import type { PlanSource } from '../../src/runtime/plan-source.js'
import { countTurns } from '../helpers/event-loop.js'
import { temporary } from '../helpers/store-kinds.js'

const KEYS = 1500
const BASE = 'version: 1\ninclude: [keys.yaml]\nupstreams: { sim: { kind: simulator } }\nmodels: { "sim-*": sim }\n'

/** A file with very many keys, which serves. */
async function drafts(t: Test): Promise<FileDrafts> {
  const folder = temporary(t)
  const digest = (n: number): string => `sha256:${n.toString(16).padStart(64, '0')}`
  const keys = Array.from({ length: KEYS }, (_, n) => `  key-${n}: { secret: { hash: "${digest(n)}" } }\n`)
  writeFileSync(join(folder, 'keys.yaml'), `keys:\n${keys.join('')}`)
  const file = join(folder, 'gateway.yaml')
  writeFileSync(file, BASE)
  const loaded = await loadPlan({ file, env: {} })
  const { plan, config } = loaded
  if (plan === undefined || config === undefined) throw new Error(JSON.stringify(loaded.problems))
  const source = { loaded, running: { plan, config }, held: async () => new Map() }
  return new FileDrafts({ file, env: {} }, () => source as unknown as PlanSource)
}

t.test('a file that someone edits while a draft of it is checked, is not written', async t => {
  const file = join(temporary(t), 'gateway.yaml')
  writeFileSync(file, BASE.replace('include: [keys.yaml]\n', ''))
  const loaded = await loadPlan({ file, env: {} })
  const edited = `${BASE}# edited by hand\n`
  const held = async () => {
    writeFileSync(file, edited)
    return new Map()
  }
  const source = { loaded, running: loaded, held, reload: async () => loaded } as unknown as PlanSource
  const drafts = new FileDrafts({ file, env: {} }, () => source)
  const { text, digest } = await drafts.file()
  await t.rejects(drafts.apply(`${text}timeouts: { total: 1m }\n`, digest), {
    ...{ status: 409, message: /gateway\.yaml has changed meanwhile; nothing was written$/ },
  })
  t.equal(readFileSync(file, 'utf8'), edited)
  t.same(readdirSync(join(file, '..')), ['gateway.yaml'])
})

t.test('what former managers could not give says nothing of a draft with others', async t => {
  const file = join(temporary(t), 'gateway.yaml')
  const text = `version: 1
secret_managers: { vault: { address: "http://127.0.0.1:1", token: { env: TOKEN } } }
keys: { app: { secret: { env: APP } } }
upstreams: { north: { kind: openai, secret: { vault: kv/north } } }
models: { m: north }
`
  writeFileSync(file, text)
  const env = { TOKEN: 'of-the-vault', APP: 'the-key-of-the-app-0123456789' }
  const held = new Map([['vault kv/north', { fault: 'refused' }]])
  const loaded = await loadPlan({ file, env, held })
  const source = { loaded, running: loaded, held: async () => held } as unknown as PlanSource
  const drafts = new FileDrafts({ file, env }, () => source)
  const [same, other] = [text, text.replace(':1"', ':2"')].map(one => `${one}timeouts: { total: 1m }\n`)
  const { changes: kept } = await drafts.check(same ?? '', false)
  t.same(kept, { settings: ['timeouts'] })
  const { changes: mended } = await drafts.check(other ?? '', false)
  t.same(mended, { settings: ['timeouts'], upstreams: { changed: ['north'] } })
})

t.test('a draft of a large configuration is checked beside requests', async t => {
  const made = await drafts(t)
  const { turns, result } = await countTurns(() => made.check(`${BASE}timeouts: { total: 1m }\n`, false))
  t.match(result, { isValid: true, changes: { settings: ['timeouts'] } })
  t.ok(turns > 500, `${turns} turns of the event loop`)
})

t.test('drafts of a large configuration are read one after another', async t => {
  const made = await drafts(t)
  let [open, most] = [0, 0]
  const count = (worker: Worker): void => {
    most = Math.max(most, ++open)
    worker.once('exit', () => open--)
  }
  process.on('worker', count)
  t.teardown(() => process.off('worker', count))
  const found = await Promise.all(
    ['1m', 'never'].map(total => made.check(`${BASE}timeouts: { total: ${total} }\n`, false)),
  )
  t.same(
    found.map(({ isValid }) => isValid),
    [true, false],
  )
  t.equal(most, 1)
})
