import { createHash } from 'node:crypto'
import { accessSync, constants, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { cachedDataVersionTag } from 'node:v8'
import vm from 'node:vm'

/** When a start is over, and what it compiled is worth keeping, milliseconds. */
const STARTED_AFTER_MS = 2000

/**
 * The exports of the script `file`. What Node compiled of it at a first start is kept in `folder` for the next ones: compiling
 * takes a third of a start. (`module.enableCompileCache` of Node 22 keeps less: it looks at the end of the process, when V8
 * has dropped the functions that only a start needs.)
 */
export function loadBundle(file, folder, keepAfterMs = STARTED_AFTER_MS) {
  // The bundle is ASCII. Read so it takes one byte a character and needs no decoding.
  const source = readFileSync(file, 'latin1')
  // V8 itself compares no more than the length of the source.
  const digest = createHash('sha1').update(source, 'latin1').digest('hex').slice(0, 16)
  // The tag stands for the versions, flags and processor which the compiled form is good for.
  const kept = join(folder, `${cachedDataVersionTag().toString(16)}-${digest}`)
  const cachedData = readIfThere(kept)
  const wrapped = `(function (exports, require, module, __filename, __dirname, importModule) {${source}\n})`
  const script = new vm.Script(wrapped, { filename: file, cachedData })
  if (cachedData === undefined || script.cachedDataRejected === true) {
    setTimeout(() => keep(script, folder, kept, digest), keepAfterMs).unref()
  }
  const module = { exports: {} }
  // `import()` fails in a script whose compiled form was kept ("A dynamic import callback was not specified").
  const importModule = specifier => import(specifier)
  script.runInThisContext()(module.exports, createRequire(file), module, file, dirname(file), importModule)
  return module.exports
}

/** @returns {Buffer | undefined} */
function readIfThere(file) {
  try {
    return readFileSync(file)
  } catch {
    return undefined
  }
}

/** Nothing is kept in an installation that the user may only read. */
function keep(script, folder, kept, digest) {
  try {
    mkdirSync(folder, { recursive: true })
    accessSync(folder, constants.W_OK)
    for (const name of readdirSync(folder)) {
      if (/^[0-9a-f]+-[0-9a-f]{16}$/.test(name) && !name.endsWith(digest)) rmSync(join(folder, name))
    }
    const draft = `${kept}.${process.pid}`
    writeFileSync(draft, script.createCachedData())
    renameSync(draft, kept)
  } catch {
    // The next start compiles again.
  }
}
