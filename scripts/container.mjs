// Builds the image twice from what is committed, by the Dockerfile, and runs it: node scripts/container.mjs [--base IMAGE] [--chroot]
// Without --base the base is made of this machine's Debian packages (no registry of images is needed). It proves that both builds are
// the same, that nothing of development is in the image, and that it serves as a user without rights from a file system that it
// cannot write to, answers its health check, and ends cleanly by SIGTERM. It needs root, buildah and util-linux.
// With --chroot, and where the kernel or a sandbox refuses namespaces, the files that the Dockerfile names are put together from this
// built checkout, and run by chroot.
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { Builder } from './container/build.mjs'
import { isLean, isTheSame, runs, runsInChroot } from './container/checks.mjs'
import { assemble } from './container/chroot.mjs'
import { listing } from './container/run.mjs'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const { values } = parseArgs({ options: { base: { type: 'string' }, chroot: { type: 'boolean' } } })
const missing = ['buildah', 'unshare', 'nsenter', 'setpriv', 'ip', 'dpkg'].filter(name => !exists(name))
if (missing.length > 0 || process.getuid() !== 0) {
  console.log(`SKIPPED: the container image needs root and ${missing.join(', ') || 'its rights'}`)
  // CI installs what it needs.
  process.exitCode = process.env.CI === 'true' ? 1 : 0
} else if (values.chroot || spawnSync('unshare', ['--mount', '--pid', '--net', '--fork', 'true']).status !== 0) {
  await byChroot()
} else {
  await main()
}

async function byChroot() {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-chroot-'))
  try {
    const root = join(folder, 'root')
    const config = timed('files', () => assemble(root, ROOT))
    isLean(root, listing(root))
    await runsInChroot(root, config)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function main() {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-container-'))
  try {
    const builder = new Builder(folder)
    const base = values.base ?? timed('base', () => builder.makeBase())
    const timestamp = Number(execFileSync('git', ['log', '-1', '--format=%ct'], { cwd: ROOT, encoding: 'utf8' }))
    // What is committed: a file that someone saves meanwhile would make two images of it.
    const context = join(folder, 'source')
    execFileSync('git', ['clone', '--quiet', '--depth', '1', `file://${ROOT}`, context])
    const settings = { context, base, timestamp }
    timed('first build', () => builder.build('first', settings))
    timed('second build', () => builder.build('second', settings))
    const root = builder.mount('first')
    const files = listing(root)
    isTheSame(files, listing(builder.mount('second')), builder)
    isLean(root, files)
    await runs({ root, files, data: join(folder, 'data'), config: builder.image('first').config })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function timed(name, work) {
  const since = performance.now()
  const result = work()
  console.log(`${name}: ${((performance.now() - since) / 1000).toFixed(1)} s`)
  return result
}

function exists(name) {
  return (
    spawnSync('which', [name], { env: { ...process.env, PATH: `${process.env.PATH}:/usr/sbin:/sbin` } }).status === 0
  )
}
