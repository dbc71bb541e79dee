import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../src/core/package-root.js'

// What only tokens and signatures need is not loaded by a start whose file has none.

const STATIC = /^(?:import|export) (?!type )(?:[^'"]*? from )?'([^']+)'/gm
const LAZY_FILES = ['vault', 'aws', 'gcp'].map(name => `src/credentials/managers/${name}.ts`)

/** Files and packages that are loaded with a file, before any of its code runs. */
function loadedWith(first: string): Set<string> {
  const found = new Set<string>([first])
  for (const path of found) {
    if (!path.startsWith('src/')) continue
    for (const [, from = ''] of readFileSync(join(packageRoot(), path), 'utf8').matchAll(STATIC)) {
      const file = normalize(join(dirname(path), from.replace(/\.js$/, '.ts')))
      found.add(from.startsWith('.') && existsSync(join(packageRoot(), file)) ? file : from)
    }
  }
  return found
}

t.test(
  'libraries of tokens and signatures, and drivers of secret managers, are loaded where they are used',
  async t => {
    const loaded = new Set(['src/cli/serve.ts', 'src/runtime/gateway.ts'].flatMap(file => [...loadedWith(file)]))
    t.ok(loaded.size > 300, `${loaded.size} files and packages`)
    t.ok(loaded.has('src/features/identity/verify.ts'), 'what uses them is loaded')
    t.same(
      [...loaded].filter(one => /^(jose|@smithy|@aws|openid-client|google-auth-library)/.test(one)),
      [],
    )
    t.same(
      LAZY_FILES.filter(file => loaded.has(file)),
      [],
    )
    for (const file of LAZY_FILES) t.ok(existsSync(join(packageRoot(), file)), file)
  },
)

t.test('that check can fail', async t => {
  t.ok(loadedWith('src/config/validators.ts').size > 1)
  t.ok([...loadedWith('src/stores/redis-client.ts')].some(one => one === 'ioredis'))
})
