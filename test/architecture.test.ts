import t from 'tap'
import { packageRoot } from '../src/core/package-root.js'
import { circlesOf } from './helpers/circles.js'
import { faultTestProblems, unknownFaults } from './helpers/fault-tests.js'
import { sizesOf } from './helpers/sizes.js'
import { FEATURE_USES, RULES, readSources, type Source } from './helpers/source-rules.js'
import { unusedExports } from './helpers/unused-exports.js'

const sources = readSources(packageRoot(), ['src', 'simulator/src', 'bin'])

const TITLES: Readonly<Record<keyof typeof RULES, string>> = {
  layers: 'each folder imports only what is to its right in the table',
  pipeline: 'the pipeline imports no feature',
  features: 'features import no other feature, except for the few that are declared',
  messages: "the kernel knows no request and no response of Node's",
  doors: 'each npm package has one door',
  builtins: 'nothing starts a process, except for workers, or runs code from text',
  disk: 'what decides per request never touches a disk',
  vendors: 'src names no vendor, in code or comment',
  evaluation: 'nothing evaluates strings or imports a computed module',
  sql: 'no SQL is put together from strings',
  units: 'constants that are times, sizes or bounds say their unit',
}

/** Snippets that break one rule each: they prove that the rule can fail. */
const BAD: Readonly<Record<keyof typeof RULES, readonly Source[]>> = {
  layers: [
    { path: 'src/core/a.ts', text: "import type { X } from '../plan/x.js'" },
    { path: 'src/config/a.ts', text: "import { compile } from '../plan/compile.js'" },
    { path: 'src/kernel/a.ts', text: "export * from '../config/load.js'" },
    { path: 'src/wire/a.ts', text: "import { pool } from '../net/pools.js'" },
    { path: 'src/codecs/chat/a.ts', text: "const wire = await import('../../wire/sse.js')" },
    { path: 'src/cli/a.ts', text: "import { startSimulator } from '../../simulator/src/index.js'" },
    { path: 'simulator/src/a.ts', text: "import { isObject } from '../../src/core/json.js'" },
    { path: 'simulator/src/text/a.ts', text: "import { load } from '../../../dist/config/load.js'" },
    { path: 'src/runtime/a.ts', text: "import { main } from '../cli/main.js'" },
    { path: 'bin/gateway.js', text: "import { startGateway } from '../dist/runtime/gateway.js'" },
  ],
  pipeline: [
    { path: 'src/kernel/pipeline.ts', text: "import { FEATURES } from '../features/index.js'" },
    {
      path: 'src/kernel/relay/open.ts',
      text: "import type { ResourceRelay } from '../../features/resources/relay.js'",
    },
    {
      path: 'src/kernel/translate/a.ts',
      text: "import type { ResponseTurn } from '../../features/responses/response-turn.js'",
    },
  ],
  features: [
    { path: 'src/features/cors/index.ts', text: "import { authenticate } from '../keys/authenticate.js'" },
    { path: 'src/features/keys/a.ts', text: "import type { Identities } from '../identity/identities.js'" },
    { path: 'src/features/responses/session/a.ts', text: "import { TRIAL } from '../../canaries/trial.js'" },
  ],
  messages: [
    { path: 'src/kernel/a.ts', text: "import type { IncomingMessage } from 'node:http'" },
    { path: 'src/kernel/a.ts', text: "import { type IncomingHttpHeaders, ServerResponse as Answer } from 'http'" },
    { path: 'src/features/responses/a.ts', text: "import * as http from 'node:http'" },
    { path: 'src/kernel/a.ts', text: "import http from 'node:https'" },
    { path: 'src/kernel/a.ts', text: "export type { ServerResponse } from 'node:http'" },
    { path: 'src/kernel/a.ts', text: "const answer = {} as import('node:http').ServerResponse" },
  ],
  doors: [
    { path: 'src/kernel/a.ts', text: "import { Pool } from 'undici'" },
    { path: 'src/plan/a.ts', text: "import { parse } from 'yaml'" },
    { path: 'src/config/a.ts', text: "import left from 'left-pad'" },
    { path: 'src/config/a.ts', text: "import x from '@scope/package/deep'" },
    { path: 'src/config/a.ts', text: "import fs from 'fs'" },
    { path: 'src/runtime/gateway.ts', text: "import { watch } from 'chokidar'" },
    { path: 'src/config/a.ts', text: "import x from 'constructor'" },
    { path: 'src/kernel/a.ts', text: "import { startSimulator } from '#simulator'" },
    { path: 'simulator/src/a.ts', text: "import { startGateway } from 'model-gateway'" },
  ],
  builtins: [
    { path: 'src/cli/a.ts', text: "import { spawn } from 'node:child_process'" },
    { path: 'src/cli/a.ts', text: "const { exec } = require('child_process')" },
    { path: 'src/config/a.ts', text: "import vm from 'node:vm'" },
    { path: 'src/cli/a.ts', text: "import { runInNewContext } from 'node:vm'" },
  ],
  disk: [{ path: 'src/kernel/a.ts', text: "import { readFile } from 'node:fs/promises'" }],
  vendors: [
    { path: 'src/net/a.ts', text: "const header = 'OpenAI-Organization'" },
    { path: 'src/net/a.ts', text: '// as Mistral does' },
    { path: 'src/net/a.ts', text: 'const gptModel = 1' },
    { path: 'src/net/a.ts', text: 'const cohere_key = 1' },
  ],
  evaluation: [
    { path: 'src/net/a.ts', text: "eval('1')" },
    { path: 'src/net/a.ts', text: "const f = new Function('return 1')" },
    { path: 'src/net/a.ts', text: 'await import(name)' },
    { path: 'src/net/a.ts', text: "setTimeout('go()', 1)" },
  ],
  sql: [
    { path: 'src/stores/a.ts', text: 'const q = `SELECT * FROM keys WHERE name = $' + '{name}`' },
    { path: 'src/stores/a.ts', text: "const q = 'DELETE FROM keys WHERE name = ' + name" },
  ],
  units: [
    { path: 'src/net/a.ts', text: 'const CONNECT_TIMEOUT = 5000' },
    { path: 'src/net/a.ts', text: 'const MOST = -1' },
    { path: 'src/net/a.ts', text: 'const RECENT = 15 * 60 * 1000' },
    { path: 'src/net/a.ts', text: 'const ROOM = (64 * 1024)' },
  ],
}

const SOUND: readonly Source[] = [
  {
    path: 'src/runtime/a.ts',
    text: "import { load } from '../config/load.js'\nimport { compile } from '../plan/a.js'",
  },
  { path: 'src/kernel/a.ts', text: "import type { IncomingHttpHeaders } from 'node:http'\nconst scheme = 'https'" },
  {
    path: 'src/features/traces/a.ts',
    text: "import { Sender } from '../otlp/sender.js'\nimport { x } from '../metrics/names.js'\nimport { y } from './y.js'",
  },
  { path: 'src/transport/a.ts', text: "import { type IncomingMessage, ServerResponse } from 'node:http'" },
  { path: 'src/cli/simulate.ts', text: "import { startSimulator } from '#simulator'" },
  {
    path: 'simulator/src/socket/a.ts',
    text: "import { isObject } from '../json.js'\nimport { WebSocketServer } from 'ws'",
  },
  { path: 'src/net/a.ts', text: "import { Pool } from 'undici'\n// a coherent voyager" },
  { path: 'src/stores/a.ts', text: "const q = 'SELECT name FROM keys WHERE digest = $1'" },
  { path: 'bin/gateway.js', text: "import '../dist/cli/main.js'" },
  {
    path: 'src/net/a.ts',
    text: 'const MAX_AGE_MS = 5 * 60_000\nconst BYTES_PER_SECOND = 1000\nconst SIZE = sizeOf(x)',
  },
]

t.test('there is something to read', async t => {
  t.ok(sources.length > 10, `${sources.length} files`)
})

for (const [name, rule] of Object.entries(RULES) as [keyof typeof RULES, (source: Source) => string[]][]) {
  t.test(TITLES[name], async t => {
    const faults = sources.flatMap(source => rule(source).map(fault => `${source.path}: ${fault}`))
    t.same(faults, [])
  })

  t.test(`that rule can fail: ${name}`, async t => {
    for (const source of BAD[name]) t.not(rule(source).length, 0, source.text)
    for (const source of SOUND) t.same(rule(source), [], source.text)
  })
}

t.test('what features use of each other is without circles, and all of it is used', async t => {
  const uses = Object.entries(FEATURE_USES).flatMap(([from, all]) => all.map(to => ({ from, to })))
  const arrows = uses.map(({ from, to }) => ({ path: `src/${from}.ts`, text: `import './${to}.js'` }))
  t.same(circlesOf(arrows), [])
  const isUsed = ({ from, to }: (typeof uses)[number]): boolean =>
    sources.some(({ path, text }) => path.startsWith(`src/features/${from}/`) && text.includes(`../${to}/`))
  t.same(
    uses.filter(use => !isUsed(use)),
    [],
  )
})

t.test('no file imports itself by way of others, not even for a type', async t => {
  t.same(circlesOf(sources), [])
})

t.test('that rule can fail: circles', async t => {
  const [a, b, c] = [
    { path: 'src/a.ts', text: "import { b } from './b.js'" },
    { path: 'src/b.ts', text: "import type { C } from './core/c.js'" },
    { path: 'src/core/c.ts', text: "export type { A } from '../a.js'" },
  ]
  t.same(circlesOf([a, b, c]), ['src/a.ts → src/b.ts → src/core/c.ts → src/a.ts'])
  t.same(circlesOf([a, b]), [])
})

t.test('src and the simulator export nothing that only its own file, or a test, uses', async t => {
  t.same(unusedExports([...sources, ...readSources(packageRoot(), ['scripts', 'bench'])]), [])
})

t.test('that rule can fail: unused exports', async t => {
  const used = { path: 'src/a.ts', text: 'export const A = 1, B = 2\nexport function f() {}\nexport type T = 1' }
  const by = (path: string, text: string): string[] => unusedExports([used, { path, text }])
  t.same(by('src/b.ts', "import { A } from './a.js'"), ['src/a.ts: B', 'src/a.ts: f', 'src/a.ts: T'])
  t.same(by('src/b.ts', "import { A, B, f as g, type T } from './a.js'"), [])
  t.same(by('src/b.ts', "export { A, f } from './a.js'"), ['src/a.ts: B', 'src/a.ts: T', 'src/b.ts: A', 'src/b.ts: f'])
  for (const whole of ["import * as a from './a.js'", "export * from './a.js'", "const a = await import('./a.js')"])
    t.same(by('src/b.ts', whole), [])
  t.same(by('scripts/b.mjs', "import { A, B, f } from '../dist/a.js'"), ['src/a.ts: T'])
  t.same(by('src/b.ts', "import { A, B, f, T } from './a.js'\n/** @testonly */\nexport const x = 1"), [])
})

/** The size of the product: docs/decisions/size.md. A new capability may raise a sum by what it needs, and says so there. */
const CEILINGS = {
  files: 1595,
  lines: 157_300,
  median: 95,
  largestFile: 400,
  longestFunction: 60,
} as const

t.test('the product gets no larger: files, lines, the largest file and the longest function', async t => {
  // A contract is a list of cases in one function.
  const product = sources.filter(({ path }) => !/^(bin|src\/contracts)\//.test(path))
  const { largestFile, longestFunction, ...sums } = sizesOf(product)
  const sizes = { ...sums, largestFile: largestFile.lines, longestFunction: longestFunction.lines }
  for (const [name, ceiling] of Object.entries(CEILINGS) as [keyof typeof CEILINGS, number][]) {
    console.log(`# MEASURED: ${name} ${sizes[name]}, at most ${ceiling}`)
    t.ok(
      sizes[name] <= ceiling,
      `${name}: ${sizes[name]} of at most ${ceiling} (${largestFile.at}, ${longestFunction.at})`,
    )
  }
})

t.test('that rule can fail: sizes', async t => {
  const long = { path: 'src/a.ts', text: `class A {\n  f() {\n${'    g()\n'.repeat(9)}  }\n}\n` }
  const short = { path: 'src/b.ts', text: 'export const f = () => {\n  g()\n}\n' }
  const generated = { path: 'src/c.generated.ts', text: '// a line\n'.repeat(99) }
  t.same(sizesOf([long, short, generated]), {
    ...{ files: 3, lines: 115, median: 13 },
    largestFile: { lines: 13, at: 'src/a.ts' },
    longestFunction: { lines: 11, at: 'src/a.ts:2' },
  })
})

t.test('every fault id has a test, and every id in a title is listed', async t => {
  t.same(await faultTestProblems(), [])
})

t.test('that rule can fail: fault ids', async t => {
  const titles = [{ path: 'a.test.ts', text: "t.test('F-U1 F-U2 it works', f)\n// F-U3 in a comment is no test" }]
  t.match(await faultTestProblems(['F-U1', 'F-U2', 'F-U3'], titles), [/^F-U3: no test/])
  t.match(await faultTestProblems(['F-U1'], titles), [/^F-U2: a\.test\.ts/])
  t.same(await faultTestProblems(['F-U1', 'F-U2'], titles), [])
})

t.test('test:faults runs nothing for an id that does not exist, and names the nearest', async t => {
  const { status, text } = unknownFaults(['F-U1', 'F-U99', 'f-c4'])
  t.equal(status, 2)
  t.match(text, /^F-U99 is not the id of a fault\. The nearest: F-U\d+, /m)
  t.match(text, /^f-c4 is not the id of a fault\. The nearest: F-C4, /m)
  t.notMatch(text, /^F-U1 /m)
})
