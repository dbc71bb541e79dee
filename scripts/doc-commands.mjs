// Runs the shell blocks of README.md and docs/ against a gateway that serves the simulator. Build first.
//   node scripts/doc-commands.mjs [PAGE…]
// A block that cannot run here says why behind its fence: ```sh not run: needs docker
import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { KEY, startGateway } from './clients/gateway.mjs'
import { runToEnd } from './clients/processes.mjs'
import { blocksOf, commandsOf } from './doc-commands/blocks.mjs'
import { FILES, userFile } from './doc-commands/files.mjs'
import { freePort } from './free-port.mjs'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const COMMAND_TIMEOUT_MS = 60_000
const WEBHOOK_SECRET = 'secret-of-the-webhooks-in-the-documentation'
/** Commands that serve until a signal comes: a shell waits for their first line, and ends them. */
const SERVES = /\bgateway"?\)?"? (?:serve|record)\b/
/** These may exit with 1 because of what they find. */
const MAY_FIND = /^(?:npx )?gateway (?:lint|probe)\b/

const wanted = process.argv.slice(2)
const pages = ['README.md', ...readdirSync(join(ROOT, 'docs'), { recursive: true }).map(name => `docs/${name}`)]
  .filter(name => name.endsWith('.md') && (wanted.length === 0 || wanted.includes(name)))
  .sort()
const work = mkdtempSync(join(tmpdir(), 'gateway-docs-'))
process.on('exit', () => rmSync(work, { recursive: true, force: true }))
const bin = shims(join(work, 'bin'))
const project = join(work, 'project')
const ports = { admin: await freePort(), other: await freePort() }
const gateway = await startGateway(join(work, 'gateway'), origin => userFile(origin, ports.admin, join(work, 'data')))
prepare()

let executed = 0
let marked = 0
let failed = 0
const since = performance.now()
for (const page of pages) {
  const blocks = blocksOf(readFileSync(join(ROOT, page), 'utf8'))
  marked += blocks.filter(({ reason }) => reason !== undefined).length
  const shell = blocks.filter(({ reason }) => reason === undefined)
  if (shell.length === 0) continue
  const own = page.startsWith('docs/cookbook/') ? await recipe(page) : undefined
  const place = own ?? { folder: copyFor(page), origin: gateway.origin }
  for (const block of shell) await run(page, block, place)
  await own?.stop()
}
await gateway.stop()
const seconds = ((performance.now() - since) / 1000).toFixed(0)
console.log(`${executed} commands executed, ${failed} failed, in ${seconds} s; ${marked} blocks marked as not run`)
process.exitCode = failed > 0 || executed === 0 ? 1 : 0

/** Runs a block's commands one after another; those that follow a failed one run as well. */
async function run(page, { line, text, isSession }, { folder: cwd, origin }) {
  const exported = []
  for (const command of commandsOf(text, isSession)) {
    const script = await filledIn(command, origin)
    if (/^export /.test(command)) {
      exported.push(script)
      await expectLeadsHere(page, line, script, cwd)
      continue
    }
    executed++
    const result = await shell([...exported, SERVES.test(script) ? servedShortly(script) : script].join('\n'), cwd)
    const isFound = result.code === 1 && MAY_FIND.test(command) && result.err === ''
    if (result.code !== 0 && !isFound) fail(page, line, command, result)
  }
}

/** A base address that a page exports is this gateway's: it lists models there, with the key of the page. */
async function expectLeadsHere(page, line, script, cwd) {
  executed++
  const probe = `${script}
for name in $(env | sed -n 's/^\\([A-Z_]*BASE[A-Z_]*\\)=http.*/\\1/p'); do
  base=$(printenv "$name")
  curl -s "$base/models" -H "authorization: Bearer $GATEWAY_KEY" || curl -s "$base/v1/models" -H "authorization: Bearer $GATEWAY_KEY" || exit 1
done`
  const result = await shell(probe, cwd)
  if (result.code !== 0 || !result.out.includes('"id"')) fail(page, line, script, result)
}

function shell(script, cwd) {
  const { PATH } = process.env
  const env = { PATH: `${bin}:${PATH}`, HOME: work, GATEWAY_KEY: KEY, STUDIO_KEY: KEY, WEBHOOK_SECRET }
  return runToEnd('bash', ['-o', 'pipefail', '-c', script], { cwd, env, timeoutMs: COMMAND_TIMEOUT_MS })
}

/** A server beside the shared one: on ports of its own, ended once it listens. Its exit code is that of the drain. */
function servedShortly(script) {
  return `exec 3< <(exec ${script.replace(/^((?:\w+=\S+ )*)/, 'env $1')} --port ${ports.other} 2>&1); pid=$!
while IFS= read -r line <&3; do printf '%s\\n' "$line"; case $line in *'listening on'*) break ;; esac; done
kill -TERM $pid && cat <&3 && wait $pid`
}

/** What a page writes for the reader to replace, and addresses of its examples. */
async function filledIn(command, origin) {
  const { host } = new URL(origin)
  const admin = `127.0.0.1:${ports.admin}`
  const values = [
    ['127.0.0.1:8080', host],
    ['localhost:8080', host],
    ['127.0.0.1:9090', admin],
    ['https://models.example', origin],
    ['GATEWAY_KEY=...', `GATEWAY_KEY=${KEY}`],
    ['sk-…', 'sk-of-the-documentation'],
    ['receipts show ID', `receipts show ${await receiptId()}`],
  ]
  return values.reduce((text, [from, to]) => text.replaceAll(from, to), command)
}

async function receiptId() {
  const response = await fetch(`${gateway.origin}/v1/models`, { headers: { authorization: `Bearer ${KEY}` } })
  await response.arrayBuffer()
  return response.headers.get('x-request-id')
}

/** A recipe is served by its own file. */
async function recipe(page) {
  const [, text] = /^```yaml\n([\s\S]*?)^```$/m.exec(readFileSync(join(ROOT, page), 'utf8')) ?? []
  const cwd = join(work, page.replaceAll('/', '-'))
  const own = await startGateway(cwd, text, { STUDIO_KEY: KEY, WEBHOOK_SECRET })
  return { folder: cwd, origin: own.origin, stop: () => own.stop() }
}

/** `gateway` and `npx gateway` are this checkout's. */
function shims(path) {
  mkdirSync(path)
  symlinkSync(join(ROOT, 'bin/gateway.js'), join(path, 'gateway'))
  writeFileSync(join(path, 'npx'), '#!/bin/sh\nexec "$@"\n', { mode: 0o755 })
  return path
}

/** Each page has a folder of its own, so that it cannot change another's files. */
function copyFor(page) {
  const path = join(work, page.replaceAll('/', '-'))
  cpSync(project, path, { recursive: true })
  return path
}

/** The files that pages name, in a repository whose last commit is that of origin/main. */
function prepare() {
  mkdirSync(project)
  // An answer of 400 and above is a failure.
  writeFileSync(join(work, '.curlrc'), 'fail-with-body\n')
  copyFileSync(join(work, 'gateway/gateway.yaml'), join(project, 'gateway.yaml'))
  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(project, name), text)
  const git = (...args) =>
    execFileSync('git', ['-c', 'user.name=docs', '-c', 'user.email=docs@example.com', ...args], { cwd: project })
  git('init', '--quiet')
  git('add', 'gateway.yaml')
  git('commit', '--quiet', '-m', 'a file')
  git('update-ref', 'refs/remotes/origin/main', 'HEAD')
  appendFileSync(join(project, 'gateway.yaml'), '# changed since the commit\n')
}

function fail(page, line, command, { code, out, err, timedOut }) {
  failed++
  console.log(`FAILED  ${page}:${line}  ${command}\n  ${timedOut ? 'not ended in time' : `exit code ${code}`}`)
  console.log(`${out}\n${err}`.trim().slice(-2000).replace(/^/gm, '  '))
}
