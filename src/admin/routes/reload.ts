import type { Problem } from '../../core/problems.js'
import type { AdminHost } from '../host.js'
import { AdminError, type AdminRoute, COUNT, objectOf, TEXT } from '../route.js'

/** Most problems in one answer. */
const MAX_PROBLEMS = 100

const CANARY = objectOf({ generation: COUNT, share: { type: 'number' } })

/** `canary`: gets that share of the requests at first. */
export const OUTCOME = objectOf({ generation: COUNT, canary: CANARY, warnings: { type: 'array', items: TEXT } }, [
  'generation',
])

export const reload: AdminRoute = {
  method: 'POST',
  path: '/admin/reload',
  summary: 'Reads the files again. 422: they have errors, and nothing has changed.',
  status: 200,
  answer: OUTCOME,
  async handle(_request, host) {
    return answerOf(await host.reload(), host)
  },
}

/** The answer where the configuration serves now. Throws {@link AdminError} where it has errors. */
export function answerOf(
  { isValid, problems }: Awaited<ReturnType<AdminHost['reload']>>,
  host: AdminHost,
): {
  readonly generation: number
  readonly canary?: { readonly generation: number; readonly share: number }
  readonly warnings: readonly string[]
} {
  const found = problems.slice(0, MAX_PROBLEMS).map(sentence)
  if (!isValid) {
    throw new AdminError(422, 'invalid_configuration', 'the files have errors; the last valid ones stay', {
      problems: found,
    })
  }
  const { generation, trial } = host.kernel
  const canary = trial && { generation: trial.generation.number, share: trial.share }
  return { generation: generation.number, ...(canary === undefined ? {} : { canary }), warnings: found }
}

function sentence({ position: { file, line, column }, path, message }: Problem): string {
  return `${file}:${line}:${column} ${path} ${message}`
}
