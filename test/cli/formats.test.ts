import { join } from 'node:path'
import t from 'tap'
import { FORMATS } from '../../src/cli/formats.js'
import type { Problem } from '../../src/core/problems.js'

const HERE: Problem = {
  severity: 'error',
  rule: 'unknown-key',
  path: 'upstreams.north.bsae',
  message: '"bsae" is not a field',
  suggestion: 'base',
  position: { file: join(process.cwd(), 'conf,1', 'gate way.yaml'), line: 12, column: 5 },
  length: 4,
  excerpt: '    bsae: https://north.example',
}

const AWAY: Problem = {
  severity: 'warning',
  rule: 'unused',
  path: '',
  message: '100 %\nsure: yes, it is',
  position: { file: '/elsewhere/gateway.yaml', line: 1, column: 1 },
  length: 1,
}

t.test('github writes a workflow command for each problem, escaped', async t => {
  t.strictSame(FORMATS.github([HERE, AWAY]).split('\n'), [
    '::error file=conf%2C1/gate way.yaml,line=12,col=5,endColumn=9,title=unknown-key::upstreams.north.bsae: "bsae" is not a field; did you mean "base"?',
    '::warning file=/elsewhere/gateway.yaml,line=1,col=1,endColumn=2,title=unused::100 %25%0Asure: yes, it is',
  ])
})

t.test('github writes nothing where nothing is wrong', async t => {
  t.equal(FORMATS.github([]), '')
})

t.test('json reports whether the file is valid; warnings alone keep it valid', async t => {
  t.strictSame(JSON.parse(FORMATS.json([])), { valid: true, problems: [] })
  t.strictSame(JSON.parse(FORMATS.json([AWAY])), { valid: true, problems: [AWAY] })
  const { valid, problems } = JSON.parse(FORMATS.json([HERE]))
  t.equal(valid, false)
  t.strictSame(problems, [{ ...HERE, position: { ...HERE.position, file: 'conf,1/gate way.yaml' } }])
})

t.test('sarif writes a 2.1.0 log', async t => {
  const log = JSON.parse(FORMATS.sarif([HERE, AWAY]))
  t.equal(log.version, '2.1.0')
  t.match(log.$schema, /sarif-2\.1\.0/)
  const [{ tool, results, columnKind }] = log.runs
  t.equal(columnKind, 'unicodeCodePoints')
  t.match(tool.driver, { name: 'model-gateway', version: /^\d/, rules: [{ id: 'unknown-key' }, { id: 'unused' }] })
  for (const result of results) t.equal(tool.driver.rules[result.ruleIndex].id, result.ruleId)
  t.match(results, [
    {
      level: 'error',
      message: { text: 'upstreams.north.bsae: "bsae" is not a field; did you mean "base"?' },
      locations: [
        {
          physicalLocation: {
            artifactLocation: { uri: 'conf%2C1/gate%20way.yaml' },
            region: { startLine: 12, startColumn: 5, endColumn: 9, snippet: { text: HERE.excerpt } },
          },
          logicalLocations: [{ fullyQualifiedName: 'upstreams.north.bsae' }],
        },
      ],
    },
    {
      level: 'warning',
      locations: [{ physicalLocation: { artifactLocation: { uri: 'file:///elsewhere/gateway.yaml' } } }],
    },
  ])
})

t.test('sarif of no problems is a log without results', async t => {
  t.strictSame(JSON.parse(FORMATS.sarif([])).runs[0].results, [])
})
