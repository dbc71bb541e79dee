import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Spending } from '../../src/runtime/spending.js'
import { FileStore } from '../../src/stores/file.js'
import { NOON, record, write } from '../helpers/ledger-entries.js'
import { run } from './bin.js'
import { GOOD, TEST_KEY } from './files.js'

t.setTimeout(60_000)

const DAY_MS = 86_400_000
const ENV = { TEST_KEY, NORTH_KEY: 'n' }

/** A folder with gateway.yaml, and the store that a gateway of it has. */
function folder(t: Test, text = GOOD): string {
  const cwd = mkdtempSync(join(tmpdir(), 'gateway-spend-'))
  t.teardown(() => rmSync(cwd, { recursive: true }))
  writeFileSync(join(cwd, 'gateway.yaml'), text)
  return cwd
}

t.test('gateway spend sums up what was used, by key, model, group, upstream and day, exactly', async t => {
  const cwd = folder(t)
  const store = new FileStore(join(cwd, 'data', 'store'))
  t.teardown(() => store.close())
  await write(store.accounts, 'w', [
    record('a', { at: NOON - DAY_MS, cost: 1, estimated: true }),
    record('b', { model: 'm-2', group: 'research', cost: 1_999_999_999_999, units: { image: 2 } }),
    record('c', { key: 'bob', outcome: 'connect', units: {}, cost: 0 }),
    record('d', { key: 'bob', outcome: 'cancelled', cost: 0, unpriced: true }),
    record('d', { key: 'bob', units: {}, cost: 0, continues: true }),
  ])
  const spend = (...args: readonly string[]) => run(['spend', ...args], { cwd, env: ENV })

  // The store stays open here, as that of a running gateway would.
  const table = await spend()
  t.equal(table.code, 0)
  t.same(table.stdout.split('\n').slice(0, 5), [
    'KEY      REQUESTS  FAILED  USD             ESTIMATED  INPUT  OUTPUT  IMAGE',
    'alice    2         0       2000000.000000  0 %        1000   10      2',
    'bob      1         1       0.000000                   1000   10      0',
    '(total)  3         1       2000000.000000  0 %        2000   20      2',
    '1 of these had no price and are counted as free',
  ])
  const json = JSON.parse((await spend('gateway.yaml', '--by', 'model', '--format', 'json')).stdout)
  t.match(json, {
    by: 'model',
    groups: [
      { name: 'm-2', usd: '1999999.999999', estimated_usd: '0.000000', requests: 1, units: { image: 2 } },
      { name: 'm-1', usd: '0.000001', estimated_usd: '0.000001', requests: 2, failed: 1, unpriced: 1 },
    ],
    total: { usd: '2000000.000000', requests: 3 },
  })
  const names = async (...args: readonly string[]): Promise<readonly (string | null)[]> =>
    (JSON.parse((await spend('--format', 'json', ...args)).stdout) as typeof json).groups.map(
      ({ name }: { name: string | null }) => name,
    )
  t.same(await names('--by', 'day'), ['2026-11-02', '2026-11-03'])
  t.same(await names('--by', 'group'), ['research', null])
  t.same(await names('--by', 'upstream'), ['north'])
  t.same(await names('--by', 'day', '--since', '2026-11-03'), ['2026-11-03'])
  t.same(await names('--by', 'day', '--until', '2026-11-02'), ['2026-11-02'], 'a day is included')
  t.same(await names('--by', 'day', '--since', '2026-11-02T12:00:00.001Z'), ['2026-11-03'])
  t.same(await names('--by', 'day', '--until', '2026-11-03T12:59+01:00'), ['2026-11-02'])
  t.same(await names('--since', '2m'), [])
  for (const wrong of ['yesterday', '2026-02-30', '2026-11-01T08:00']) {
    const refused = await spend('--since', wrong)
    t.equal(refused.code, 2)
    t.match(refused.stderr, /option '--since <when>' argument '.+' is invalid/)
  }
})

t.test('csv always has the same columns, and no formula of a client', async t => {
  const cwd = folder(t)
  const store = new FileStore(join(cwd, 'data', 'store'))
  await write(store.accounts, 'w', [record('a', { model: '=1+1,"x"' })])
  await store.close()
  const { stdout } = await run(['spend', '--by', 'model', '--format', 'csv'], { cwd, env: ENV })
  const head = `line,model,requests,failed,usd,estimated_usd,unpriced,input,cached,cache_write,output,reasoning,input_audio,output_audio,image,audio_second,video_second,character,search,request`
  const rest = '1,0,0.002500,0.000000,0,1000,0,0,10,0,0,0,0,0,0,0,0,0'
  t.equal(stdout, `${head}\r\nmodel,"'=1+1,""x""",${rest}\r\ntotal,,${rest}\n`)
})

t.test('a ledger in memory is out of reach, and an empty one is empty', async t => {
  const memory = folder(t, GOOD.replace('{ type: file, path: ./data }', '{ type: memory }'))
  for (const command of [['spend'], ['ledger', 'verify']]) {
    const { code, stderr } = await run([...command, 'gateway.yaml'], { cwd: memory, env: ENV })
    t.equal(code, 1)
    t.equal(
      stderr,
      "error: the ledger is in the gateway's memory (store: { type: memory }), so this command cannot see it\n",
    )
  }
  const empty = await run(['spend'], { cwd: folder(t), env: ENV })
  t.match(empty, { code: 0, stdout: /^KEY .*\n\(total\) +0 +0 +0\.000000\n$/ })
})

t.test('a file that counts nothing says so, also in JSON, unless it counted once', async t => {
  const note = 'this file counts nothing: add limits, prices or groups\n'
  const cwd = folder(t)
  t.match(await run(['spend'], { cwd, env: ENV }), { code: 0, stderr: note })
  const json = async () => JSON.parse((await run(['spend', '--format', 'json'], { cwd, env: ENV })).stdout)
  t.equal((await json()).counting, false)
  const counted = folder(t, `${GOOD}ledger: { retention: 9d }\n`)
  t.equal((await run(['spend'], { cwd: counted, env: ENV })).stderr, '')
  const store = new FileStore(join(cwd, 'data', 'store'))
  await write(store.accounts, 'w', [record('a')])
  await store.close()
  t.equal((await run(['spend'], { cwd, env: ENV })).stderr, '')
  t.equal((await json()).counting, undefined)
})

t.test('names beyond the bound are summed together', t => {
  const spending = new Spending('key', 2)
  for (const [n, key] of ['a', 'b', 'c', 'd', 'a'].entries()) spending.add('', record(String(n), { key, cost: 1 }))
  t.same(
    spending.groups.map(({ name, spent }) => [name, spent.cost]),
    [
      ['a', 2],
      ['b', 1],
    ],
  )
  t.equal(spending.other?.cost, 2)
  t.equal(spending.total.cost, 5)
  t.end()
})
