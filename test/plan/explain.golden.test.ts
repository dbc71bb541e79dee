import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import t from 'tap'
import { load } from '../../src/config/load.js'
import { compileSchema } from '../../src/config/schemas.js'
import { packageRoot } from '../../src/core/package-root.js'
import { atOnce } from '../../src/core/steps.js'
import { compiling } from '../../src/plan/compile.js'
import { type Ask, explainPlan, explainRequest } from '../../src/plan/explain.js'

/**
 * A golden file holds a configuration, with its variables in a first line `# env A=1 B=2`, and then any number of
 * requests to be explained, each `$ METHOD /path [model=M] [key=K] [stream] [body=JSON]` with what is said of it below.
 * `$ plan` explains the whole plan. Run with UPDATE_GOLDEN=1 to write what is reported now; then read the difference.
 */
const FOLDER = join(packageRoot(), 'test/golden/plan')
const UPDATE = process.env.UPDATE_GOLDEN === '1'
/** Keys expire in golden files after or before this moment. */
const NOW = Date.UTC(2026, 0, 1)

for (const file of readdirSync(FOLDER).filter(name => name.endsWith('.txt'))) {
  t.test(basename(file, '.txt').replaceAll('-', ' '), async t => {
    const path = join(FOLDER, file)
    const written = readFileSync(path, 'utf8')
    const [config = '', ...sections] = written.split(/^(?=\$ )/m)
    const tell = await explainer(config)
    const answers = sections.map(section => withAnswer(section, tell))
    const told = [config, ...answers].join('')
    for (const secret of Object.values(variables(config))) {
      const leak = answers.find(answer => answer.slice(answer.indexOf('\n')).includes(secret))
      t.equal(leak, undefined, 'F-D2 no secret is reported')
    }
    if (UPDATE) writeFileSync(path, told)
    else t.equal(told, written)
  })
}

function withAnswer(section: string, tell: (request: string) => string): string {
  const request = section.slice(2, section.indexOf('\n'))
  return `$ ${request}\n${tell(request)}\n`
}

async function explainer(yaml: string): Promise<(request: string) => string> {
  const folder = mkdtempSync(join(tmpdir(), 'golden-'))
  try {
    writeFileSync(join(folder, 'gateway.yaml'), yaml)
    const loaded = await load({ file: join(folder, 'gateway.yaml'), env: variables(yaml) })
    const { config, digest } = loaded
    if (config === undefined) throw new Error(JSON.stringify(loaded.problems, undefined, 1))
    const { plan, problems } = atOnce(compiling(config, digest, { compileSchema, generated: () => undefined }))
    return request => {
      if (request === 'problems') return problems.map(one => `${one.path}: ${one.rule}: ${one.message}\n`).join('')
      const text = request === 'plan' ? explainPlan(plan, config) : explainRequest(plan, askOf(request))
      return text.replaceAll(folder, 'FOLDER')
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function variables(yaml: string): Record<string, string> {
  const pairs = /^# env (.*)$/m.exec(yaml)?.[1]?.split(' ') ?? []
  return Object.fromEntries(pairs.map(pair => pair.split('=', 2) as [string, string]))
}

function askOf(request: string): Ask {
  const body = /body=(.*)$/.exec(request)?.[1]
  const [method = '', path = '', ...options] = request.replace(/ body=.*$/, '').split(' ')
  const given = Object.fromEntries(options.map(option => [/^[^=]*/.exec(option)?.[0], option.replace(/^[^=]*=?/, '')]))
  return {
    method,
    path,
    model: given.model,
    key: given.key,
    stream: 'stream' in given ? true : undefined,
    body,
    now: NOW,
  }
}
