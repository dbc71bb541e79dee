#!/usr/bin/env node
// `npm run build`: compiles src/ and simulator/ into dist folders, then makes what a start reads instead of hundreds of files:
// dist/bundle/ and dist/preparsed.json.
import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const require = createRequire(import.meta.url)

// A bundle of an older build would be served in place of what a failed build wrote.
for (const made of ['dist/bundle', 'dist/compile-cache']) rmSync(join(ROOT, made), { recursive: true, force: true })
const compiler = spawnSync(process.execPath, ['node_modules/typescript-native/bin/tsc', '-b'], {
  cwd: ROOT,
  stdio: 'inherit',
})
process.exitCode = compiler.status ?? 1
if (process.exitCode === 0) {
  await import('./preparse.mjs')
  await bundle()
}

/** The modules of a command in a few files: finding, reading and linking 700 takes longer than running them. */
async function bundle() {
  const esbuild = bundler()
  if (esbuild === undefined) return
  const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  await esbuild.build({
    absWorkingDir: ROOT,
    // In one folder, because the thread is found beside the file that starts it.
    entryPoints: { main: 'dist/cli/main.js', thread: 'dist/runtime/reading/thread.js' },
    outdir: 'dist/bundle',
    chunkNames: '[name]-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    // Dependencies stay packages of their own, which users can update.
    external: Object.keys(dependencies),
    sourcemap: true,
    sourcesContent: false,
    logLevel: 'warning',
    plugins: [{ name: 'ascii', setup: build => build.onLoad({ filter: /dist\/.*\.js$/ }, withPlainComments) }],
  })
}

/** Comments inside classes stay in a bundle, and text beyond Latin-1 takes twice the memory of its whole file. */
function withPlainComments({ path }) {
  const plain = comment => comment.replace(/[^\0-\x7f]/g, '-')
  return { contents: readFileSync(path, 'utf8').replace(/^ *(?:\/\/|\/\*|\*).*$/gm, plain), loader: 'js' }
}

/** Without it (an installation from before it was needed) the gateway runs from its modules. */
function bundler() {
  try {
    return require('esbuild')
  } catch {
    console.warn('esbuild is not installed (npm ci installs it): the gateway will start more slowly')
    return undefined
  }
}
