// Puts a program from its registry into a folder of its own. What cannot be had is not a failure: it is skipped and reported.
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { runToEnd } from './processes.mjs'

const INSTALL_TIMEOUT_MS = 200_000

/** Why a program is not tried here. */
export class Skipped extends Error {}

/** Installs exactly this version into the folder. */
export async function install({ npm, pip, version }, folder) {
  mkdirSync(folder, { recursive: true })
  if (npm !== undefined) await installFromNpm(`${npm}@${version}`, folder)
  if (pip !== undefined) await installFromPip(`${pip}==${version}`, folder)
}

/** Programs bring their binaries in packages for each platform, so that no install script has to run. */
async function installFromNpm(spec, folder) {
  const flags = ['--no-save', '--no-package-lock', '--no-audit', '--no-fund', '--ignore-scripts', '--silent']
  flags.push('--cache', join(folder, '.npm'))
  await step('npm', ['install', ...flags, '--prefix', folder, spec], folder)
}

async function installFromPip(spec, folder) {
  const flags = ['--quiet', '--disable-pip-version-check', '--no-input', '--no-cache-dir', '--only-binary', ':all:']
  await step('python3', ['-m', 'pip', 'install', ...flags, '--target', folder, spec], folder)
}

async function step(command, args, folder) {
  const { code, out, err, timedOut } = await runToEnd(command, args, {
    cwd: folder,
    env: process.env,
    timeoutMs: INSTALL_TIMEOUT_MS,
  })
  if (code === 0) return
  const last = `${out}\n${err}`.trim().split('\n').at(-1)
  throw new Skipped(timedOut ? `not installed within ${INSTALL_TIMEOUT_MS / 1000} s` : `does not install: ${last}`)
}

/** The first of these files that is there: packages for platforms have names of their own. */
export function firstFile(folder, paths) {
  const found = paths.map(path => join(folder, path)).find(path => existsSync(path))
  if (found === undefined) throw new Skipped(`has no binary for ${process.platform}-${process.arch}`)
  return found
}
