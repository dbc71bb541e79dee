import type { Config } from '../core/config.js'
import { loadExport } from '../core/load-module.js'
import { type DocumentPath, pathText } from '../core/path-text.js'
import type { Problem } from '../core/problems.js'
import { ModuleFault, type UserModule } from '../core/user-module.js'

type Found = Pick<Problem, 'path' | 'rule' | 'severity' | 'message'>

/** Loads the modules that checks and credentials name, which runs the top of each, and reports those that do not fit. */
export async function moduleProblems({ checks, upstreams }: Config): Promise<readonly Found[]> {
  const found = [
    ...checks.map(check => problemOf(check, 'openCheck', ['checks', check.name, 'type'])),
    ...Object.entries(upstreams).map(([name, { credential, off }]) => {
      const source = off === undefined ? credential?.source : undefined
      if (source?.type !== 'module') return undefined
      return problemOf(source, 'openCredential', ['upstreams', name, 'credential', 'type'])
    }),
  ]
  return (await Promise.all(found)).flatMap(problem => problem ?? [])
}

async function problemOf(module: UserModule, name: string, path: DocumentPath): Promise<Found | undefined> {
  try {
    await loadExport(module, name)
    return undefined
  } catch (cause) {
    const why = cause instanceof ModuleFault ? cause.message : 'it cannot be loaded'
    return { path: pathText(path), rule: 'bad-module', severity: 'error', message: `this module is of no use: ${why}` }
  }
}
