// What `npm run dev` and `npm run test:watch` share: after a change the changed files are compiled one by one, without their
// types, which takes a fraction of a second; the compiler then checks everything while the result is already being used.
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { watch } from 'chokidar'
import ts from 'typescript'

export const ROOT = fileURLToPath(new URL('..', import.meta.url))
/** Editors write a file in several steps, and branches change many files. */
const QUIET_MS = 50
const WATCHED = ['src', 'simulator/src', 'test', 'routes', 'gateway.yaml']
/** What the compiler remembers of each build: which sources it has written out. */
const BUILD_INFOS = ['dist/.tsbuildinfo', 'simulator/dist/.tsbuildinfo', '.test-build/.tsbuildinfo']

/**
 * Builds with the npm script `build`, calls `act` with no paths, and again with the paths (`src/wire/sse.ts`) of each batch
 * of changes once they are compiled. `act` is given a signal that says that there are newer changes.
 */
export async function watchSources(build, act) {
  let changed = new Set()
  let newer = new AbortController()
  let wake = () => {}
  const watcher = watch(WATCHED, { cwd: ROOT, ignoreInitial: true })
  watcher.on('all', (_event, path) => {
    changed.add(path.replaceAll('\\', '/'))
    newer.abort()
    wake()
  })
  await check(build, newer.signal)
  for (let paths = []; ; ) {
    await act(paths, newer.signal)
    if (paths.length > 0) await check(build, newer.signal)
    if (changed.size === 0) await new Promise(resolve => (wake = resolve))
    await new Promise(resolve => setTimeout(resolve, QUIET_MS))
    paths = [...changed]
    changed = new Set()
    newer = new AbortController()
    for (const path of paths) compile(path)
  }
}

/** Runs a command until it ends or there are newer changes; all its processes end with it. */
export function run(command, args, signal) {
  return new Promise(resolve => {
    const child = spawn(command, args, { cwd: ROOT, stdio: ['ignore', 'inherit', 'inherit'], detached: true })
    const stop = () => endGroup(child.pid)
    signal.addEventListener('abort', stop)
    process.on('exit', stop)
    child.on('exit', status => {
      signal.removeEventListener('abort', stop)
      process.off('exit', stop)
      resolve(status)
    })
  })
}

function endGroup(pid) {
  try {
    process.kill(-pid, 'SIGTERM')
  } catch {
    // It has ended by itself.
  }
}

for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(0))

/** The real build, with types. It stops where there are newer changes. */
async function check(build, signal) {
  if (signal.aborted) return
  for (const info of BUILD_INFOS) move(`${info}.aside`, info)
  const status = await run('npm', ['run', '--silent', build], signal)
  if (!signal.aborted) console.log(status === 0 ? 'types: sound' : 'types: see above')
}

/** Writes one source file to where the build writes it. A file that is gone stays built until the next build from scratch. */
export function compile(path) {
  if (!path.endsWith('.ts') || !existsSync(join(ROOT, path))) return
  // A build that is never finished must not make the next one believe that these files are the compiler's.
  for (const info of BUILD_INFOS) move(info, `${info}.aside`)
  rmSync(join(ROOT, 'dist/bundle'), { recursive: true, force: true })
  for (const [file, text] of outputs(path, readFileSync(join(ROOT, path), 'utf8'))) {
    mkdirSync(dirname(join(ROOT, file)), { recursive: true })
    writeFileSync(join(ROOT, file), text)
  }
}

/** The files that the build makes of a source file, as `[path, text]`: programs run from the folders dist, tests from .test-build/. */
export function outputs(path, source) {
  const [, folder, inFolder] = /^(|simulator\/)src\/(.*)/.exec(path) ?? []
  const places = [join('.test-build', path), ...(inFolder === undefined ? [] : [join(folder, 'dist', inFolder)])]
  return places.flatMap(place => {
    const file = place.replace(/\.ts$/, '.js')
    const { outputText, sourceMapText } = ts.transpileModule(source, {
      fileName: relative(join(ROOT, dirname(file)), join(ROOT, path)),
      compilerOptions: OPTIONS,
    })
    return [
      [file, outputText],
      [`${file}.map`, sourceMapText],
    ]
  })
}

/** Those of tsconfig.json. A file by itself cannot look up package.json, which makes every file here a module. */
const OPTIONS = {
  ...ts.convertCompilerOptionsFromJson(
    JSON.parse(readFileSync(join(ROOT, 'tsconfig.json'), 'utf8')).compilerOptions,
    ROOT,
  ).options,
  module: ts.ModuleKind.ESNext,
}

function move(from, to) {
  if (existsSync(join(ROOT, from))) renameSync(join(ROOT, from), join(ROOT, to))
}
