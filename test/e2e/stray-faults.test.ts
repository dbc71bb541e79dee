import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { packageRoot } from '../../src/core/package-root.js'
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

const yaml = (file: string, store = 'memory'): string => `version: 1
listen: { port: 0 }
store: { type: ${store} }
keys: { caller: { secret: { env: CALLER_KEY } } }
upstreams: { sim: { kind: simulator } }
models: { m: { upstream: sim, as: sim-text } }
checks: { stray: { type: ./${file} } }
`
const KEY = 'the-key-of-this-test-0123456789'

for (const [what, begins] of Object.entries(STRAYS)) {
  t.test(`${what} is logged, and the process continues`, async t => {
    const folder = t.testdir({
      'stray.mjs': `export const openCheck = () => ({ check() { ${begins}; return 'pass' } })`,
      'gateway.yaml': yaml('stray.mjs'),
    })
    const bin = start(t, ['serve', join(folder, 'gateway.yaml')], { bare: true, env: { CALLER_KEY: KEY, SECRET } })
    const [origin] = await bin.until(/http:\/\/127\.0\.0\.1:\d+/)
    const ask = async (): Promise<number> => {
      const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
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

// With several the supervisor loads it, too, which has no gateway and so no log.
for (const [workers, store, reported] of [
  ['1', 'memory', /a module failed beside its calls[^\n]*TypeError at top\.mjs:1/],
  ['2', 'file', /a module failed beside its calls: top\.mjs: TypeError at top\.mjs:1/],
] as const) {
  t.test(`the top of a module may fail beside it while the files are read, workers: ${workers}`, async t => {
    const folder = t.testdir({
      'top.mjs': `void Promise.reject(new TypeError(process.env.SECRET))
export const openCheck = () => ({ check: () => 'pass' })`,
      'gateway.yaml': yaml('top.mjs', store),
    })
    const args = ['serve', join(folder, 'gateway.yaml'), '--workers', workers]
    const bin = start(t, args, { bare: true, env: { CALLER_KEY: KEY, SECRET } })
    await bin.until(/http:\/\/127\.0\.0\.1:\d+/)
    await bin.until(reported)
    t.equal(bin.child.exitCode, null)
    t.notMatch(bin.stdout + bin.stderr, SECRET)
  })
}

/** What an app does that has a gateway inside, with what it prints and how it ends. */
const HOSTS: Readonly<Record<string, readonly [app: string, printed: RegExp, code: number]>> = {
  'a rejection of its own ends it': ["void Promise.reject(new Error('of the app'))", /^$/, 1],
  'a rejection without a frame ends it': ["void Promise.reject('of the app')", /^$/, 1],
  'an exception of its own ends it': ["setTimeout(() => { throw new Error('of the app') })", /^$/, 1],
  'it hears of its rejections once': [
    "process.on('unhandledRejection', cause => console.log('heard', cause.message)); void Promise.reject(new Error('of the app')); ends()",
    /^heard of the app\n$/,
    0,
  ],
  'it hears of its exceptions once': [
    "process.on('uncaughtException', (cause, how) => console.log(how, cause.message)); setTimeout(() => { throw new Error('of the app') }); ends()",
    /^uncaughtException of the app\n$/,
    0,
  ],
  'it hears of rejections as exceptions once': [
    "process.on('uncaughtException', (cause, how) => console.log(how, cause.message)); void Promise.reject(new Error('of the app')); ends()",
    /^unhandledRejection of the app\n$/,
    0,
  ],
  'a fault of a module does not end it': ['await ask(); ends()', /a module failed beside its calls/, 0],
}

for (const [what, [app, printed, wanted]] of Object.entries(HOSTS)) {
  t.test(`an app with a gateway inside: ${what}`, async t => {
    const library = pathToFileURL(join(packageRoot(), '.test-build', 'src', 'index.js'))
    const folder = t.testdir({
      'stray.mjs':
        "export const openCheck = () => ({ check() { void Promise.reject(new TypeError()); return 'pass' } })",
      'gateway.yaml': yaml('stray.mjs'),
      'app.mjs': `import { createGateway } from '${library}'
import { Writable } from 'node:stream'
const lines = new Writable({ write(line, _, done) { if (/beside its calls/.test(line)) console.log(String(line)); done() } })
const gateway = await createGateway({ file: '${join(t.testdirName, 'gateway.yaml')}', watch: false, log: lines })
const ask = () => fetch(gateway.origin + '/v1/chat/completions', {
  method: 'POST',
  headers: { authorization: 'Bearer ${KEY}', 'content-type': 'application/json' },
  body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hello' }] }),
})
const ends = () => setTimeout(() => gateway.closeNow().then(() => process.exit(0)), 1)
${app}
`,
    })
    const { PATH } = process.env
    const ended = await new Promise<{ code: unknown; stdout: string; stderr: string }>(resolve => {
      execFile(
        process.execPath,
        [join(folder, 'app.mjs')],
        { env: { PATH, CALLER_KEY: KEY } },
        (error, stdout, stderr) => resolve({ code: error?.code ?? 0, stdout, stderr }),
      )
    })
    t.equal(ended.code, wanted, ended.stderr)
    t.match(ended.stdout, printed)
    if (wanted !== 0) t.match(ended.stderr, /of the app/)
  })
}
