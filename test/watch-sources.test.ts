import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { packageRoot } from '../src/core/package-root.js'

/** What `npm run dev` and `npm run test:watch` compile changed files with. */
interface WatchScript {
  outputs(path: string, source: string): [path: string, text: string][]
}

const root = packageRoot()
/** One file of so many is compiled; the rest would only take longer. */
const EVERY = 40

t.test('a file that is compiled by itself is what the build makes of it', async t => {
  const { outputs } = (await import(pathToFileURL(join(root, 'scripts', 'watch-sources.mjs')).href)) as WatchScript
  const files = ['src', 'simulator/src', 'test'].flatMap(folder =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter(name => name.endsWith('.ts'))
      .map(name => join(folder, name))
      .sort()
      .filter((_, index) => index % EVERY === 0),
  )
  t.ok(files.length > 10, `${files.length} files`)
  for (const path of files) {
    for (const [file, text] of outputs(path, readFileSync(join(root, path), 'utf8'))) {
      const built = readFileSync(join(root, file), 'utf8')
      if (file.endsWith('.map')) t.same(JSON.parse(text).sources, JSON.parse(built).sources, file)
      else t.ok(text === built, file)
    }
  }
})
