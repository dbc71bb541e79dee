#!/usr/bin/env node
// `npm run build`: compiles src/ and simulator/ into dist folders, then makes what a start reads instead of hundreds of files:
// dist/bundle/ and dist/preparsed.json, and the console in dist/console/ with the documentation in its docs/. `--no-check`: types are
// checked by what follows, as the compilation of the tests does, which contains src/.
import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildConsole } from './build-console.mjs'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const require = createRequire(import.meta.url)

// A bundle of an older build would be served in place of what a failed build wrote.
rmSync(join(ROOT, 'dist/bundle'), { recursive: true, force: true })
const more = process.argv.includes('--no-check') ? ['--noCheck'] : []
const compiler = spawnSync(process.execPath, ['node_modules/typescript-native/bin/tsc', '-b', ...more], {
  cwd: ROOT,
  stdio: 'inherit',
})
process.exitCode = compiler.status ?? 1
if (process.exitCode === 0) {
  await import('./preparse.mjs')
  await manPages()
  await bundle()
}

/** Pages for man(1), which the package manager installs. */
async function manPages() {
  const { main } = await import('../dist/cli/main.js')
  rmSync(join(ROOT, 'dist/man'), { recursive: true, force: true })
  await main(['man', '--into', join(ROOT, 'dist/man')], { stdout: process.stdout, stderr: process.stderr, env: {} })
}

/** The modules of all commands in one file, and those of the thread: finding, reading and linking 700 takes longer than running them. */
async function bundle() {
  const esbuild = bundler()
  if (esbuild === undefined) return
  const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const settings = {
    absWorkingDir: ROOT,
    outdir: 'dist/bundle',
    bundle: true,
    platform: 'node',
    target: 'node20.19',
    // Dependencies stay packages of their own, which users can update.
    external: Object.keys(dependencies),
    sourcemap: true,
    sourcesContent: false,
    logLevel: 'warning',
  }
  const reading = change => [{ name: 'reading', setup: build => build.onLoad({ filter: /dist\/.*\.js$/ }, change) }]
  const [isBuilt] = await Promise.all([
    buildConsole(esbuild),
    // A script and no module: of scripts what was compiled can be kept (bin/bundle.js).
    esbuild.build({
      ...settings,
      plugins: reading(path => withGivenImport(withPlainComments(path))),
      entryPoints: { main: 'dist/cli/main.js' },
      format: 'cjs',
      // A script cannot import: packages that are loaded where they are needed are required then.
      supported: { 'dynamic-import': false },
      outExtension: { '.js': '.cjs' },
      banner: { js: "const bundle_url = require('node:url').pathToFileURL(__filename).href;" },
      define: { 'import.meta.url': 'bundle_url' },
    }),
    // In the same folder, because the thread is found beside the file that starts it.
    esbuild.build({
      ...settings,
      plugins: reading(withPlainComments),
      entryPoints: { thread: 'dist/runtime/reading/thread.js' },
      format: 'esm',
    }),
  ])
  if (!isBuilt) process.exitCode = 1
  // Imported here, because it needs packages that only a checkout has.
  const { buildSite } = await import('./site/build.mjs')
  await buildSite(join(ROOT, 'dist/console/docs'), { strict: false })
}

/** Comments inside classes stay in a bundle, and text beyond Latin-1 takes twice the memory of its whole file. */
function withPlainComments({ path }) {
  const plain = comment => comment.replace(/[^\0-\x7f]/g, '-')
  return { contents: readFileSync(path, 'utf8').replace(/^ *(?:\/\/|\/\*|\*).*$/gm, plain), loader: 'js' }
}

/** Modules that are known only at run time are loaded by what bin/bundle.js gives. */
function withGivenImport({ contents, loader }) {
  return { contents: contents.replace(/\bimport\((?!['"`])/g, 'importModule('), loader }
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
