import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import t from 'tap'
import { parse } from 'yaml'
import { runFiles } from '../../src/cli/testing/run-files.js'
import { packageRoot } from '../../src/core/package-root.js'
import { run } from '../cli/bin.js'
import { INDEX, RECIPES, recipeOf } from '../helpers/recipes.js'

/** Runs the recipes of docs/cookbook by `gateway test`: each is a configuration, its files and its tests. */

const LEAST_RECIPES = 38
/** What the cookbook has to have, by the pages' names. */
const SUBJECTS = [
  ...['ollama', 'vllm', 'llama-cpp', 'azure-openai', 'bedrock', 'vertex'],
  ...['codex', 'gemini-cli', 'claude-code', 'opencode', 'aider', 'continue', 'cursor'],
  ...['langchain', 'llamaindex', 'vercel-ai-sdk', 'pydantic-ai', 'open-webui', 'librechat', 'n8n'],
  ...['team-budgets', 'from-litellm', 'from-new-api', 'from-portkey', 'from-bifrost'],
  ...['fallbacks', 'eu-only', 'testing-against-faults', 'realtime-browser', 'kubernetes', 'prometheus'],
  ...['rotating-keys', 'oidc', 'own-provider', 'own-endpoint', 'tasks-and-webhooks'],
]

t.test('a recipe without a configuration or without a test is refused', async t => {
  t.throws(() => recipeOf('bare', '# Bare\n\n```yaml\nversion: 1\n```\n'), /bare: 0 blocks are ```yaml test/)
  t.throws(() => recipeOf('bare', '```yaml test\ntests: {}\n```\n'), /bare: 0 blocks are ```yaml;/)
})

t.test('there are recipes, and the index has each of them', async t => {
  t.ok(RECIPES.length >= LEAST_RECIPES, `${RECIPES.length} recipes`)
  const listed = [...INDEX.matchAll(/\]\(([\w-]+)\.md\)/g)].map(([, name]) => name)
  t.same(listed.toSorted(), RECIPES.map(({ name }) => name).toSorted())
  for (const name of SUBJECTS) t.ok(listed.includes(name), name)
})

/** Tests of a recipe that send something and say what comes of it. */
function contractTests(tests: string): readonly string[] {
  const { tests: all = {} } = parse(tests) as { tests?: Record<string, { request?: unknown; expect?: unknown } | null> }
  return Object.entries(all).flatMap(([title, test]) => (test?.request && test.expect ? title : []))
}

t.test('each recipe has a contract test, which sends a request and says what it expects', async t => {
  t.same(contractTests('tests: {}'), [])
  t.same(contractTests('tests:\n  a: { request: { to: GET /v1/models } }\n'), [])
  for (const { name, tests } of RECIPES) t.ok(contractTests(tests).length > 0, name)
})

t.test('what a contract test cannot show is run by the test that the page names', async t => {
  const live = readFileSync(join(packageRoot(), 'test/deploy/cookbook-live.test.ts'), 'utf8')
  const run = [...live.matchAll(/\brecipe\('([\w-]+)'\)/g)].map(([, name = '']) => name)
  t.ok(run.length >= 5, run.join())
  for (const { name, page } of RECIPES) {
    const [, said = ''] = /\n## What is tested\n([\s\S]*?)```/.exec(page) ?? []
    const named = [...said.matchAll(/`((?:test|scripts)\/[\w./-]+)`/g)].map(([, path = '']) => path)
    for (const path of named) t.ok(existsSync(join(packageRoot(), path)), `${name}: ${path}`)
    t.equal(named.includes('test/deploy/cookbook-live.test.ts'), run.includes(name), `${name} is run as its page says`)
  }
})

t.test('each recipe passes its own tests', async t => {
  const folder = t.testdir({})
  const files = RECIPES.map(({ name, config, tests, blocks }) => {
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
  for (const { name, blocks, config } of RECIPES) {
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
