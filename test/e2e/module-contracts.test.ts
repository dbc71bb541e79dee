import { execFile } from 'node:child_process'
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { packageRoot } from '../../src/core/package-root.js'

// Modules of a user's own in a project that has the package installed: the examples of the documentation run unchanged, their
// contracts by the test runner of Node, and their types are those of the package.

const run = promisify(execFile)
const EXAMPLES = [
  ...readFileSync(join(packageRoot(), 'docs/library.md'), 'utf8').matchAll(/^```js\n([\s\S]*?)^```$/gm),
].map(([, text = '']) => text)

const CHECK = (verdict: string): string => `
export const openCheck = ({ words }) => ({
  async check(request) {
    const text = JSON.stringify((await request.body()) ?? '')
    return words.some(word => text.includes(word)) ? ${verdict} : 'pass'
  },
})
`
const CREDENTIAL = (token: string): string => `
export const openCredential = ({ account }, { secret }) => ({ get: () => ({ token: ${token}, headers: { account } }) })
`

/** It signs what it gave, as the gateway shows it. */
const SIGNING = (header: string): string => `
export const openCredential = ({ account }, { secret }) => ({
  get: () => ({ token: secret, headers: { account } }),
  sign: ({ headers }) => {
    if (headers.authorization !== 'Bearer ' + secret || headers.account !== account) throw new Error('sign before get')
    return { ${header}: headers.authorization.length + headers.account }
  },
})
`

const TYPED = `
import type { OpenCheck, OpenCredential, OpenStoreModule, Verdict } from 'model-gateway'
import { checkContract, credentialContract, storeContract } from 'model-gateway/contracts'

export const openCheck: OpenCheck = ({ words }, { warn }) => {
  if (!Array.isArray(words)) warn('words is not a list')
  return {
    async check({ caller, headers, body, signal }): Promise<Verdict> {
      signal.throwIfAborted()
      const claims = caller.identity?.claims ?? {}
      const read: unknown = await body()
      return claims.plan === 'gold' || headers['x-tier'] === 'gold' || read === undefined ? 'pass' : { refuse: 'no', status: 402 }
    },
  }
}
export const openCredential: OpenCredential = (_options, { secret = '', origin }) => ({
  get: async () => ({ token: secret, expires: new Date() }),
  sign: ({ sha256 }) => ({ 'x-signature': \`\${origin} \${sha256() ?? ''}\` }),
})
export const openStore: OpenStoreModule | undefined = undefined
export const contracts = [checkContract, credentialContract, storeContract]
`

/** A project with the package among its modules. */
function projectOf(t: Test, files: Readonly<Record<string, string>>): string {
  const folder = t.testdir({ node_modules: {}, 'package.json': '{ "type": "module" }', ...files })
  symlinkSync(packageRoot(), join(folder, 'node_modules/model-gateway'))
  return folder
}

async function outcome(cwd: string, file: string): Promise<string> {
  const env = { PATH: process.env.PATH }
  const done = await run(process.execPath, ['--test', '--test-reporter=tap', file], { cwd, env }).catch(
    (error: { readonly stdout: string }) => error,
  )
  return done.stdout
}

t.test('the documented contracts pass with a good module, and fail with a bad one', async t => {
  const exampleOf = (module: string): string => EXAMPLES.find(text => text.includes(`'./${module}'`)) ?? ''
  const cases = [
    ['my-check.mjs', CHECK("{ refuse: 'no' }"), CHECK('false')],
    ['my-credential.mjs', CREDENTIAL('secret'), CREDENTIAL('account + " with spaces"')],
    ['my-credential.mjs', SIGNING('signature'), SIGNING('host')],
  ] as const
  for (const [module, good, bad] of cases) {
    const folder = projectOf(t, { [module]: good, 'contract.mjs': exampleOf(module) })
    t.match(await outcome(folder, 'contract.mjs'), /^# pass [45]$[\s\S]*^# fail 0$/m, module)
    writeFileSync(join(folder, module), bad)
    t.match(await outcome(folder, 'contract.mjs'), /^# fail [1-5]$/m, module)
  }
})

t.test('a signature finds the token where the file sends it', async t => {
  const module = (found: string): string =>
    `export const openCredential = (_, { secret }) => ({
      get: () => ({ token: secret, headers: { account: 'north' } }),
      sign({ headers, url }) {
        if (${found} !== secret) throw new Error('there is no token')
        if (headers.account !== 'north' || headers.authorization !== undefined) throw new Error('not as it is sent')
        return { signature: 'made' }
      },
    })`
  const cases = [
    ["{ in: 'header', name: 'X-Api-Key' }", "headers['x-api-key']"],
    ["{ in: 'header', name: 'x-token', scheme: 'Token' }", "headers['x-token']?.replace('Token ', '')"],
    ["{ in: 'query', name: 'key' }", "new URL(url).searchParams.get('key')"],
  ] as const
  const example = EXAMPLES.find(text => text.includes("'./my-credential.mjs'")) ?? ''
  for (const [place, found] of cases) {
    const placed = example.replace(/\)\)\n$/, `), { place: ${place} })\n`)
    const folder = projectOf(t, { 'my-credential.mjs': module(found), 'contract.mjs': placed, 'bearer.mjs': example })
    t.match(await outcome(folder, 'contract.mjs'), /^# pass 4$[\s\S]*^# fail 0$/m, place)
    t.match(await outcome(folder, 'bearer.mjs'), /^# fail 2$/m, 'not where it is the bearer')
  }
})

t.test('the types of modules are those that the package exports', async t => {
  const folder = projectOf(t, {
    'mine.ts': TYPED,
    'wrong.ts':
      "import type { OpenCheck } from 'model-gateway'\nexport const openCheck: OpenCheck = () => ({ check: () => true })\n",
  })
  const compiler = join(packageRoot(), 'node_modules/typescript/bin/tsc')
  const check = async (file: string): Promise<string> => {
    const options = [
      '--noEmit',
      '--strict',
      '--module',
      'nodenext',
      '--target',
      'es2023',
      '--skipLibCheck',
      '--ignoreConfig',
    ]
    const types = ['--types', 'node', '--typeRoots', join(packageRoot(), 'node_modules/@types')]
    return run(process.execPath, [compiler, ...options, ...types, file], { cwd: folder }).then(
      () => '',
      (error: { readonly stdout: string }) => error.stdout,
    )
  }
  t.equal(await check('mine.ts'), '')
  t.match(await check('wrong.ts'), /^wrong\.ts\(2,\d+\): error TS2322/)
})
