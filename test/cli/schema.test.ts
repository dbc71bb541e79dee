import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../src/core/package-root.js'
import { run } from './bin.js'
import { BAD, GOOD } from './files.js'

t.test('schema prints the schema of gateway.yaml', async t => {
  const { code, stdout } = await run(['schema'])
  t.equal(code, 0)
  t.match(JSON.parse(stdout), { $schema: /draft-07/, properties: { upstreams: {}, models: {} } })
})

t.test('schema --list names every shipped schema, and each of them can be printed', async t => {
  const names = (await run(['schema', '--list'])).stdout.trim().split('\n')
  t.equal(names.length, readdirSync(join(packageRoot(), 'schemas')).filter(file => file.endsWith('.json')).length)
  for (const name of names) {
    const { code, stdout } = await run(['schema', name])
    t.equal(code, 0, name)
    t.match(JSON.parse(stdout), { $schema: /draft-07/ })
  }
})

t.test('a name that no schema has is refused with those that there are', async t => {
  const { code, stdout, stderr } = await run(['schema', '../package'])
  t.equal(code, 2)
  t.equal(stdout, '')
  t.match(stderr, 'chat.request')
})

t.test('a name that is nearly right gets a suggestion', async t => {
  const { stderr } = await run(['schema', 'chat.reqest'])
  t.equal(stderr, 'error: no schema is called "chat.reqest"; did you mean "chat.request"?\n')
})

t.test('schema of a file is the same schema, with the names of the file to offer', async t => {
  const cwd = t.testdir({ 'mine.yaml': GOOD, 'bad.yaml': BAD })
  const { code, stdout, stderr } = await run(['schema', 'mine.yaml'], { cwd })
  t.equal(code, 0, stderr)
  const own = JSON.parse(stdout)
  t.match(own.definitions.upstreamName.defaultSnippets, [{ label: 'sim', body: 'sim' }, { label: 'north' }])
  t.match(own.definitions.knownModel.defaultSnippets, [{ label: 'sim-text' }, { label: 'north-text' }])
  const shipped = JSON.parse((await run(['schema'])).stdout)
  for (const name of ['upstreamName', 'knownModel', 'model']) {
    const { defaultSnippets: _own, ...rest } = own.definitions[name]
    const { defaultSnippets: _shipped, ...before } = shipped.definitions[name]
    t.strictSame(rest, before, name)
  }
  const bad = await run(['schema', 'bad.yaml'], { cwd })
  t.equal(bad.code, 1)
  t.match(bad.stderr, 'bad.yaml:6:')
  t.equal((await run(['schema', 'none.yaml'], { cwd })).code, 2)
})
