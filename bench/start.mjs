#!/usr/bin/env node
// A start of gateway.yaml: milliseconds to the first answer, CPU of the process, and memory once it is idle.
//   npm run bench:start
//   npm run bench:start -- --beside=FOLDER ROUNDS    another checkout in the same run, with the ratio of each round
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { freePort } from '../scripts/free-port.mjs'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const KEY = 'k'.repeat(40)
/** What a start leaves for later has happened by then. */
const IDLE_AFTER_MS = 2_000
const GIVE_UP_MS = 30_000

const words = process.argv.slice(2)
const beside = words.find(word => word.startsWith('--beside='))?.slice('--beside='.length)
const rounds = Number(words.find(word => /^\d+$/.test(word)) ?? 9)
const checkouts = beside === undefined ? [ROOT] : [beside, ROOT]
const folder = mkdtempSync(join(tmpdir(), 'bench-start-'))
copyFileSync(join(ROOT, 'gateway.yaml'), join(folder, 'gateway.yaml'))

const measured = checkouts.map(() => [])
// The first round fills the caches of the system and of the runtime.
for (let round = 0; round <= rounds; round++) {
  for (const [index, checkout] of checkouts.entries()) {
    const result = await start(checkout)
    if (round > 0) measured[index].push(result)
  }
}
rmSync(folder, { recursive: true })

for (const [index, checkout] of checkouts.entries()) {
  const [first, own] = [measured[0], measured[index]]
  const columns = ['answered_ms', 'cpu_ms', 'idle_mib'].map(name => {
    const ratio = median(own.map((one, round) => one[name] / first[round][name]))
    return `${name} ${median(own.map(one => one[name])).toFixed(0)}${index === 0 ? '' : ` (${ratio.toFixed(2)} ×)`}`
  })
  console.log(`${checkout}  ${columns.join('  ')}`)
}

async function start(checkout) {
  const port = await freePort()
  const args = [join(checkout, 'bin/gateway.js'), 'serve', 'gateway.yaml', '--port', String(port)]
  const since = performance.now()
  const env = { ...process.env, GATEWAY_KEY: KEY }
  const child = spawn(process.execPath, args, { cwd: folder, env, stdio: 'ignore' })
  while ((await status(port)) !== 200) {
    if (child.exitCode !== null || performance.now() - since > GIVE_UP_MS) throw new Error(`${checkout} does not start`)
    await delay(3)
  }
  const answered_ms = performance.now() - since
  await delay(IDLE_AFTER_MS)
  const [, times] = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')
  const [user, system] = times.split(' ').slice(11, 13)
  const [, resident] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))
  child.kill('SIGKILL')
  await once(child, 'exit')
  // The kernel counts in hundredths of a second.
  return { answered_ms, cpu_ms: (Number(user) + Number(system)) * 10, idle_mib: resident / 1024 }
}

/** 0 before the gateway listens. */
function status(port) {
  return new Promise(resolve => {
    const headers = { authorization: `Bearer ${KEY}` }
    get({ host: '127.0.0.1', port, path: '/v1/models', agent: false, headers }, answer => {
      answer.resume().on('end', () => resolve(answer.statusCode))
    }).on('error', () => resolve(0))
  })
}

function median(values) {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]
}
