import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** A change of a compiled module: its file below `src/`, text that it has once, and what is there instead. */
export type Mutation = readonly [file: string, from: string, to: string]

/** Runs in the process of the test, and on its loader's thread: text alone. */
const HOOK = `
import { register } from 'node:module'
const loader = \`
  const mutations = \${process.env.MUTATIONS}
  export async function load(url, context, next) {
    const loaded = await next(url, context)
    const found = mutations.filter(([file]) => url.endsWith('/src/' + file))
    if (found.length === 0) return loaded
    const source = found.reduce((text, [file, from, to]) => {
      if (text.split(from).length !== 2) throw new Error('MUTATION MISSED: ' + file + ' has not once ' + from)
      return text.replace(from, () => to)
    }, String(loaded.source))
    return { ...loaded, source }
  }\`
register('data:text/javascript,' + encodeURIComponent(loader))
`

/** The output of a test file (below `test/`, without `.test.ts`) with the product changed so, and whether it failed. */
export function runMutated(
  file: string,
  mutations: readonly Mutation[],
): Promise<{ readonly failed: boolean; readonly output: string }> {
  const hook = `data:text/javascript,${encodeURIComponent(HOOK)}`
  const path = fileURLToPath(new URL(`../${file}.test.js`, import.meta.url))
  const options = { env: { ...process.env, MUTATIONS: JSON.stringify(mutations) }, maxBuffer: 64 * 1024 * 1024 }
  return new Promise(resolve => {
    execFile(process.execPath, ['--import', hook, path], options, (cause, stdout, stderr) =>
      resolve({ failed: cause !== null, output: stdout + stderr }),
    )
  })
}
