// Keys of the store at scale: a million of them in a file store. What a first and a further look-up cost beside a key of the file,
// what a guess costs, and whether the start of a gateway takes longer for them. Ratios within one run.
// usage: node bench/store-keys.mjs [--keys=N]
import { spawn } from 'node:child_process'
import { hash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { atOnce } from '../dist/core/steps.js'
import { Callers } from '../dist/features/keys/callers.js'
import { encodeKey } from '../dist/features/keys/record.js'
import { KeySecrets } from '../dist/features/keys/secrets.js'
import { compileKeys } from '../dist/plan/keys.js'
import { FileStore } from '../dist/stores/file.js'

const asked = process.argv.find(argument => argument.startsWith('--keys='))
const KEYS = Number(asked?.slice('--keys='.length) ?? 1_000_000)
const BATCH = 5000
const LOOKUPS = 2000
const STARTS = 5
const NEVER = Date.UTC(9999, 0, 1)

const folder = mkdtempSync(join(tmpdir(), 'gateway-bench-keys-'))
try {
  const full = join(folder, 'full')
  const secrets = await seed(full)
  await lookUps(full, secrets)
  await starts(full, join(folder, 'empty'))
} finally {
  rmSync(folder, { recursive: true, force: true })
}

/** Writes the keys, and gives the secrets of some. */
async function seed(path) {
  const store = new FileStore(join(path, 'store'))
  const maker = new KeySecrets(store)
  const some = []
  const since = performance.now()
  for (let from = 0; from < KEYS; from += BATCH) {
    const writes = []
    for (let at = from; at < Math.min(KEYS, from + BATCH); at++) {
      const secret = (await maker.make()).reveal()
      if (at % Math.max(1, Math.floor(KEYS / LOOKUPS)) === 0) some.push(secret)
      const [name, sha256, created] = [`key-${at}`, hash('sha256', secret), Date.now()]
      const key = { name, created, changed: created, secrets: [{ sha256 }], terms: { models: ['sim-*'] } }
      const draft = { owner: 'gateway', created, expires: NEVER }
      writes.push(
        store.create({ ...draft, namespace: 'keys', key: name, value: encodeKey(key) }),
        store.create({ ...draft, namespace: 'key-digests', key: sha256, value: Buffer.from(name) }),
      )
    }
    await Promise.all(writes)
  }
  await store.close()
  console.log(`${KEYS} keys in a file store, written in ${((performance.now() - since) / 1000).toFixed(0)} s`)
  return some
}

async function lookUps(path, secrets) {
  const store = new FileStore(join(path, 'store'))
  let reads = 0
  const get = store.get.bind(store)
  store.get = (...place) => {
    reads++
    return get(...place)
  }
  const callers = new Callers(store, error => console.error(error))
  callers.compile = ({ name }) => ({ caller: { name }, disabled: false, expires: NEVER })
  await callers.start()
  const own = secrets[0]
  const entry = {
    models: ['*'],
    disabled: false,
    secrets: [{ type: 'plain', secret: { reveal: () => 'k'.repeat(46) } }],
  }
  const ring = atOnce(compileKeys({ me: entry }, () => undefined, { error: console.error }))
  const plan = { keys: ring }
  await callers.find(plan, own, Date.now())
  const before = reads
  const first = await perCall(secrets.slice(1), secret => callers.find(plan, secret, 0))
  const firstReads = (reads - before) / (secrets.length - 1)
  const cachedBefore = reads
  const again = await perCall(secrets.slice(1), secret => callers.find(plan, secret, 0))
  const inFile = await perCall(secrets.slice(1), () => callers.find(plan, 'k'.repeat(46), 0))
  const guesses = secrets.map((_, at) => `gw-${hash('sha256', `${at}`, 'base64url')}`)
  const cachedReads = reads - cachedBefore
  const guessBefore = reads
  const guess = await perCall(guesses, secret => callers.find(plan, secret, 0))
  callers.close()
  await store.close()
  const row = (what, time, count) =>
    console.log(
      `${what.padEnd(28)} ${(time / inFile).toFixed(1).padStart(8)} × a key of the file, ${count} reads of the store`,
    )
  row('first look-up', first, firstReads.toFixed(2))
  row('further look-ups', again, cachedReads)
  row('a guess of the right shape', guess, reads - guessBefore)
}

/** Median nanoseconds of a call. */
async function perCall(values, call) {
  const times = []
  for (const value of values) {
    const since = process.hrtime.bigint()
    const found = call(value)
    if (found instanceof Promise) await found
    times.push(Number(process.hrtime.bigint() - since))
  }
  return times.sort((one, other) => one - other)[times.length >> 1]
}

/** Starts of gateways on both stores in turn, so that the load of the machine meets both. */
async function starts(full, empty) {
  const times = { full: [], empty: [] }
  for (let at = 0; at < STARTS; at++) {
    for (const [name, path] of Object.entries({ full, empty })) times[name].push(await start(path))
  }
  const [a, b] = [times.full, times.empty].map(all => all.sort((one, other) => one - other)[STARTS >> 1])
  console.log(`${'start until it listens'.padEnd(28)} ${(a / b).toFixed(2).padStart(8)} × the same with an empty store`)
}

/** Milliseconds until the gateway on that store listens. */
async function start(path) {
  const file = join(folder, 'gateway.yaml')
  const lines = [
    'version: 1',
    'listen: { port: 0 }',
    `store: { type: file, path: "${path}" }`,
    'upstreams: { sim: { kind: simulator } }',
  ]
  writeFileSync(file, `${lines.join('\n')}\nkeys: { me: { secret: { env: BENCH_KEY } } }\nmodels: { "sim-*": sim }\n`)
  const since = performance.now()
  const env = { PATH: process.env.PATH, BENCH_KEY: 'k'.repeat(46) }
  const child = spawn(process.execPath, ['bin/gateway.js', 'serve', file, '--no-watch'], { env, stdio: 'pipe' })
  await new Promise((listens, failed) => {
    child.stderr.on('data', data => String(data).includes('"listening"') && listens())
    child.once('exit', code => failed(new Error(`it ended with ${code}`)))
  })
  const time = performance.now() - since
  child.removeAllListeners('exit')
  const ended = new Promise(resolve => child.once('exit', resolve))
  child.kill('SIGKILL')
  await ended
  return time
}
