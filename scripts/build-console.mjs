// The console: console/src becomes dist/console, with each file also packed, so that the gateway only hands out what is ready.
import { spawn } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { bundledLicences } from './licences.mjs'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const OUT = join(ROOT, 'dist/console')
/** Most that the first page may load, bytes as they are sent (gzip): the issue allows 250 KiB, without the editor. */
const MAX_FIRST_BYTES = 102 * 1024

/** Resolves with whether it was built. */
export async function buildConsole(esbuild) {
  rmSync(OUT, { recursive: true, force: true })
  const types = checkTypes()
  const { metafile } = await esbuild.build({
    absWorkingDir: ROOT,
    entryPoints: { main: 'console/src/main.tsx', style: 'console/src/style.css' },
    outdir: 'dist/console/assets',
    bundle: true,
    splitting: true,
    format: 'esm',
    target: 'es2022',
    minify: true,
    jsx: 'automatic',
    jsxImportSource: 'preact',
    entryNames: '[name]-[hash]',
    chunkNames: 'part-[hash]',
    metafile: true,
    legalComments: 'none',
    logLevel: 'warning',
  })
  // Audio worklets are loaded by their address.
  await esbuild.build({
    absWorkingDir: ROOT,
    entryPoints: { microphone: 'console/src/microphone.ts' },
    outdir: 'dist/console',
    bundle: true,
    format: 'esm',
    target: 'es2022',
    minify: true,
  })
  const built = metafile.outputs
  const entry = from => Object.keys(built).find(path => built[path].entryPoint === from)
  const [script, style] = [entry('console/src/main.tsx'), entry('console/src/style.css')]
  const page = readFileSync(join(ROOT, 'console/index.html'), 'utf8')
  mkdirSync(OUT, { recursive: true })
  writeFileSync(join(OUT, 'index.html'), page.replace('SCRIPT', basename(script)).replace('STYLE', basename(style)))
  cpSync(join(ROOT, 'console/icon.svg'), join(OUT, 'icon.svg'))
  // The search of the documentation is in this folder as well.
  const inputs = [...Object.keys(metafile.inputs), 'node_modules/minisearch/']
  writeFileSync(join(OUT, 'licences.txt'), bundledLicences(ROOT, inputs))
  const sizes = new Map()
  for (const path of [...Object.keys(built), 'dist/console/index.html', 'dist/console/icon.svg']) {
    const content = readFileSync(join(ROOT, path))
    const packed = gzipSync(content, { level: 9 })
    sizes.set(path, packed.length)
    writeFileSync(join(ROOT, `${path}.gz`), packed)
    writeFileSync(
      join(ROOT, `${path}.br`),
      brotliCompressSync(content, { params: { [constants.BROTLI_PARAM_QUALITY]: 10 } }),
    )
  }
  const first = [...atOnce(built, script), style].reduce((sum, path) => sum + sizes.get(path), 0)
  if (first > MAX_FIRST_BYTES) {
    console.error(`the console's first page loads ${first} bytes, at most ${MAX_FIRST_BYTES} are allowed`)
    return false
  }
  return await types
}

/** The files that a file imports before it runs, and itself. */
function atOnce(built, path, found = new Set()) {
  if (found.has(path)) return found
  found.add(path)
  for (const one of built[path].imports) if (one.kind === 'import-statement') atOnce(built, one.path, found)
  return found
}

function checkTypes() {
  const compiler = spawn(process.execPath, ['node_modules/typescript-native/bin/tsc', '-p', 'console'], {
    cwd: ROOT,
    stdio: 'inherit',
  })
  return new Promise(resolve => compiler.on('close', code => resolve(code === 0)))
}
