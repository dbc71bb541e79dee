import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type t from 'tap'
import { packageRoot } from '../../../src/core/package-root.js'
import { launch, type StoreServer } from '../store-servers.js'
import { tinyModel } from './tiny-model.js'

const SCRIPT = join(packageRoot(), 'test/helpers/llama/serve.py')
/** Where `pip install --target` has put the package, if not where Python looks by itself. */
const { LLAMA_CPP_DIR: PACKAGES = '' } = process.env

/** The reason why tests with the server of llama.cpp are skipped here, or false. In CI they never are. */
export const withoutLlama = skipping()

/** The name that the server gives its model, for any that a request names. */
export const ALIAS = 'tiny'

export interface LlamaServer extends StoreServer {
  readonly origin: string
  /** A metric of the server's own, by its name without `llamacpp:`. */
  metric(name: string): Promise<number>
}

/** Starts llama.cpp's server with a model that is made here; `settings` are members of its `CommonParams`. */
export async function startLlama(
  test: Pick<typeof t, 'teardown' | 'comment'>,
  settings: Readonly<Record<string, unknown>> = {},
): Promise<LlamaServer> {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-llama-'))
  test.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const model = join(folder, 'tiny.gguf')
  writeFileSync(model, tinyModel())
  const server = await launch(test, port => ({
    command: 'python3',
    args: [
      SCRIPT,
      PACKAGES,
      JSON.stringify({ model, port, model_alias: [ALIAS], endpoint_metrics: true, ...settings }),
    ],
  }))
  const origin = `http://127.0.0.1:${server.port}`
  return {
    ...server,
    origin,
    metric: async name => {
      const text = await (await fetch(`${origin}/metrics`)).text()
      return Number(new RegExp(`^llamacpp:${name} (.*)$`, 'm').exec(text)?.[1])
    },
  }
}

function skipping(): string | false {
  const PYTHONPATH = PACKAGES
  const { status } = spawnSync('python3', ['-c', 'import xllamacpp'], { env: { ...process.env, PYTHONPATH } })
  if (status === 0 || process.env.CI === 'true') return false
  return 'SKIPPED: there is no llama.cpp (python3 -m pip install xllamacpp, or LLAMA_CPP_DIR names its folder)'
}
