import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../src/core/package-root.js'
import { type GoldenFile, parseGolden } from '../helpers/golden-file.js'
import { tryLoad } from './support.js'

/**
 * Each file of test/golden/config holds rule lines (`# expect: error | warning | ok`, `# env: NAME=value`), the files of
 * a configuration (`--- file: gateway.yaml`) and, after `--- output`, what a person reads. UPDATE_GOLDEN=1 writes the
 * outputs anew; read the difference before you commit it.
 */
const FOLDER = join(packageRoot(), 'test/golden/config')

interface Golden extends GoldenFile {
  readonly expect: string | undefined
  readonly env: Readonly<Record<string, string>>
}

function parse(text: string): Golden {
  const [head = ''] = text.split(/^--- /m)
  const env = [...head.matchAll(/^# env: (\w+)=(.*)$/gm)].map(match => [match[1] ?? '', match[2] ?? ''])
  const expect = /^# expect: (\w+)$/m.exec(head)?.[1]
  return { ...parseGolden(text), expect, env: Object.fromEntries(env) }
}

const names = readdirSync(FOLDER).filter(name => name.endsWith('.txt'))

t.ok(names.length >= 50, `there are at least 50 golden files (${names.length})`)

for (const name of names.sort()) {
  t.test(`${name.slice(0, -'.txt'.length)} is explained as its golden file says`, async t => {
    const golden = parse(readFileSync(join(FOLDER, name), 'utf8'))
    const result = await tryLoad(t, golden.files, { env: golden.env })
    if (process.env.UPDATE_GOLDEN === '1') writeFileSync(join(FOLDER, name), `${golden.head}--- output\n${result.text}`)
    else t.equal(result.text, golden.output)
    const worst = result.problems.some(({ severity }) => severity === 'error')
      ? 'error'
      : result.problems.length > 0
        ? 'warning'
        : 'ok'
    t.equal(worst, golden.expect)
    t.equal(
      result.config === undefined,
      golden.expect === 'error',
      'a configuration comes of it exactly where there is no error',
    )
  })
}
