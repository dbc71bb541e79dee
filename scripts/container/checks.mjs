// What holds for the container image, each thrown where it does not.
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { freePort } from '../free-port.mjs'
import { Container, listing, sizeOf } from './run.mjs'

const MIB = 1024 * 1024
/** What the gateway adds to its base, at most, bytes. */
const MAX_APP_BYTES = 70 * MIB
const START_MS = 30_000
const POLL_MS = 100
const KEY = 'key-of-the-container-0123456789abcdef'
/** Of OpenShift: it has no name, and group 0. */
const CHOSEN_USER = 1000680000
const FOREIGN =
  /^\.\/app\/(src|test|bench|scripts|console|docs|\.git)\/|\/app\/.*\.(map|tsbuildinfo) |\/app\/(dist|simulator)\/.*\.test\.js |\/app\/node_modules\/(typescript|esbuild|tap|@biomejs)\//

/** Two builds have the same files with the same rights and contents. */
export function isTheSame(one, other, builder) {
  const differ = one.filter((line, at) => line !== other[at])
  check(differ.length === 0, `both builds have the same files: ${differ.slice(0, 5).join('; ')}`)
  const digest = createHash('sha256').update(one.join('\n')).digest('hex')
  console.log(`${one.length} lines of files, their digest ${digest}`)
  const isSame = builder.image('first').id === builder.image('second').id
  console.log(isSame ? 'both images have one identifier' : 'the images differ in their metadata alone')
}

/** Nothing of development is in the image, and what the gateway adds to its base is bounded. */
export function isLean(root, files) {
  const found = files.filter(line => FOREIGN.test(line.replace(/^[0-9a-f]{64} {2}/, '')))
  check(found.length === 0, `nothing of development is in it: ${found.slice(0, 5).join('; ')}`)
  const app = sizeOf(root, 'app')
  check(app <= MAX_APP_BYTES, `it adds at most ${MAX_APP_BYTES / MIB} MiB: ${app} bytes`)
  const parts = ['node_modules', 'dist'].map(name => `${name} ${mib(sizeOf(root, `app/${name}`))}`)
  console.log(`the image has ${mib(sizeOf(root, '.'))}, of which the gateway ${mib(app)} (${parts.join(', ')})`)
}

/** It serves as its user without writing to the image, answers its health check, and ends cleanly. */
export async function runs({ root, files, data, config }) {
  check(/^[1-9]\d*:[1-9]\d*$/.test(config.User), `its user has a number, and is not root: ${config.User}`)
  const container = new Container({ root, data, config, env: { GATEWAY_KEY: KEY, GATEWAY_ADMIN_KEY: `${KEY}-admin` } })
  try {
    const [kind, ...health] = config.Healthcheck.Test
    check(kind === 'CMD', 'the health check is a command')
    const alone = spawnSync('unshare', ['--net', 'chroot', root, ...health])
    check(alone.status === 1, `the health check fails where nothing serves: ${alone.stderr}`)
    await healthy(container, health)
    const asked = container.exec('node', '-e', ASK)
    check(asked.status === 0 && asked.output.includes('Say hello'), `a request is answered: ${asked.output}`)
    for (const path of ['/app/dist', '/etc/gateway', '/tmp', '/']) {
      const { status } = container.exec('sh', '-c', `echo x > ${path}/written`)
      check(status !== 0, `${path} cannot be written to`)
    }
    check(container.exec('sh', '-c', 'echo x > /data/written').status === 0, '/data can be written to')
    container.kill(config.StopSignal ?? 'SIGTERM')
    const { code, signal } = await container.ended
    check(code === 0, `it ends cleanly by ${config.StopSignal}: ${code ?? signal}\n${container.output}`)
  } finally {
    container.destroy()
  }
  check(readdirSync(data).length > 1, 'its store is in the volume')
  check(listing(root).join() === files.join(), 'no file of the image has changed')
  console.log('it serves as its user without writing to the image, is healthy, and ends cleanly')
}

/** The same without namespaces: on a port of this machine, and with file permissions in place of a read-only file system. */
export async function runsInChroot(root, { User, Entrypoint, Cmd, Env, Healthcheck, StopSignal }) {
  check(/^[1-9]\d*:[1-9]\d*$/.test(User), `its user has a number, and is not root: ${User}`)
  const port = await freePort()
  const env = { ...Env, GATEWAY_KEY: KEY, GATEWAY_ADMIN_KEY: `${KEY}-admin` }
  const inside = (...command) =>
    spawnSync('chroot', [`--userspec=${User}`, root, ...command], { env, encoding: 'utf8' })
  const files = listing(join(root, 'app'))
  const command = [...Entrypoint, ...Cmd, '--port', String(port), '--admin-port', '0']
  const served = spawn('chroot', [`--userspec=${User}`, root, ...command], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [served.stdout, served.stderr]) stream.on('data', text => (output += text))
  const ended = new Promise(resolve => served.once('close', (code, signal) => resolve({ code, signal })))
  try {
    const onPort = words => words.map(word => word.replaceAll('8080', String(port)))
    const exec = (...words) => {
      const { status, stdout, stderr } = inside(...onPort(words))
      return { status, output: stdout + stderr }
    }
    const container = {
      exec,
      get output() {
        return output
      },
    }
    await healthy(container, Healthcheck)
    const asked = exec('node', '-e', ASK)
    check(asked.status === 0 && asked.output.includes('Say hello'), `a request is answered: ${asked.output}`)
    for (const path of ['/app/dist', '/etc/gateway', '/'])
      check(exec('sh', '-c', `echo x > ${path}/written`).status !== 0, `${path} cannot be written to`)
    check(exec('sh', '-c', 'echo x > /data/written').status === 0, '/data can be written to')
    const chosen = spawnSync('chroot', [`--userspec=${CHOSEN_USER}:0`, root, 'sh', '-c', 'echo x > /data/chosen'])
    check(chosen.status === 0, 'a user that the platform chooses can write to /data')
    served.kill(StopSignal)
    const { code, signal } = await ended
    check(code === 0, `it ends cleanly by ${StopSignal}: ${code ?? signal}\n${output}`)
  } finally {
    served.kill('SIGKILL')
  }
  check(readdirSync(join(root, 'data')).length > 1, 'its store is in the volume')
  check(listing(join(root, 'app')).join() === files.join(), 'no file of the gateway has changed')
  console.log('in a chroot it serves as its user, writes to its volume alone, is healthy, and ends cleanly')
}

const ASK = `fetch('http://127.0.0.1:8080/v1/chat/completions', {
  method: 'POST', headers: { authorization: 'Bearer ${KEY}', 'content-type': 'application/json' },
  body: JSON.stringify({ model: 'sim-text', messages: [{ role: 'user', content: 'Say hello.' }] }),
}).then(async answer => { console.log(await answer.text()); process.exitCode = answer.ok ? 0 : 1 })`

async function healthy(container, command) {
  const until = performance.now() + START_MS
  let last
  do {
    last = container.exec(...command)
    if (last.status === 0) return
    await delay(POLL_MS)
  } while (performance.now() < until)
  throw new Error(`not healthy after ${START_MS} ms: ${last.output}\n${container.output}`)
}

function check(isTrue, what) {
  if (!isTrue) throw new Error(`does not hold: ${what}`)
}

function mib(bytes) {
  return `${(bytes / MIB).toFixed(0)} MiB`
}
