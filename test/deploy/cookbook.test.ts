import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import t from 'tap'
import { parse } from 'yaml'
import { runFiles } from '../../src/cli/testing/run-files.js'
import { packageRoot } from '../../src/core/package-root.js'
import { run } from '../cli/bin.js'

/** Runs the recipes of docs/cookbook by `gateway test`: each is a configuration, its files and its tests. */

const FOLDER = join(packageRoot(), 'docs', 'cookbook')
const LEAST_RECIPES = 25
const INDEX = readFileSync(join(FOLDER, 'index.md'), 'utf8')

interface Block {
  /** What the line that opens the block says after the backticks. */
  readonly info: string
  readonly text: string
}

interface Recipe {
  readonly name: string
  readonly blocks: readonly Block[]
  /** The configuration: the first block that is `yaml` alone. */
  readonly config: string
  readonly tests: string
}

function blocksOf(page: string): readonly Block[] {
  return [...page.matchAll(/^```([^\n]+)\n([\s\S]*?)^```$/gm)].map(([, info = '', text = '']) => ({ info, text }))
}

function recipeOf(name: string, page: string): Recipe {
  const blocks = blocksOf(page)
  const only = (info: string): string => {
    const found = blocks.filter(block => block.info === info)
    if (found.length !== 1) throw new Error(`${name}: ${found.length} blocks are \`\`\`${info}; a recipe has one`)
    return found[0]?.text ?? ''
  }
  return { name, blocks, config: only('yaml'), tests: only('yaml test') }
}

const names = readdirSync(FOLDER).filter(name => name.endsWith('.md') && name !== 'index.md')
const recipes = names.map(name => recipeOf(name.replace(/\.md$/, ''), readFileSync(join(FOLDER, name), 'utf8')))

t.test('a recipe without a configuration or without a test is refused', async t => {
  t.throws(() => recipeOf('bare', '# Bare\n\n```yaml\nversion: 1\n```\n'), /bare: 0 blocks are ```yaml test/)
  t.throws(() => recipeOf('bare', '```yaml test\ntests: {}\n```\n'), /bare: 0 blocks are ```yaml;/)
})

t.test('there are recipes, and the index has each of them', async t => {
  t.ok(recipes.length >= LEAST_RECIPES, `${recipes.length} recipes`)
  const listed = [...INDEX.matchAll(/\]\(([\w-]+)\.md\)/g)].map(([, name]) => name)
  t.same(listed.toSorted(), recipes.map(({ name }) => name).toSorted())
})

t.test('each recipe passes its own tests', async t => {
  const folder = t.testdir({})
  const files = recipes.map(({ name, config, tests, blocks }) => {
    const own = join(folder, name)
    mkdirSync(own)
    writeFileSync(join(own, 'gateway.yaml'), config)
    for (const { info, text } of blocks) {
      const [, file] = /^\w+ ([\w-]+\.\w+)$/.exec(info) ?? []
      if (file !== undefined) writeFileSync(join(own, file), text)
    }
    const path = join(own, 'recipe.test.yaml')
    writeFileSync(path, tests)
    return path
  })
  const stdout = new Sink()
  const stderr = new Sink()
  const code = await runFiles(
    files,
    { format: 'tap', update: false, watch: false },
    { stdout, stderr, stdin: Readable.from([]), env: {} },
  )
  t.equal(code, 0, stderr.text)
  for (const failure of stdout.text.split(/^(?=ok |not ok |# )/m).filter(part => part.startsWith('not ok')))
    t.fail(failure)
  const [, planned] = /^1\.\.(\d+)$/m.exec(stdout.text) ?? []
  t.equal(stdout.text.match(/^ok /gm)?.length, Number(planned))
})

t.test('what an import makes is what its recipe shows', async t => {
  let imports = 0
  for (const { name, blocks, config } of recipes) {
    for (const { info, text } of blocks) {
      const [, words] = /^\w+ import (.+)$/.exec(info) ?? []
      if (words === undefined) continue
      imports++
      const [from = '', ...options] = words.split(' ')
      const cwd = t.testdir({ source: text })
      const { code, stdout, stderr } = await run(['import', from, 'source', ...options], { cwd })
      t.equal(code, 0, stderr)
      t.same(parse(stdout), parse(config), name)
    }
  }
  t.ok(imports >= 4, `${imports} imports`)
})

class Sink extends Writable {
  text = ''

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString('utf8')
    done()
  }
}
