import { causeOf, type FailureCause } from '../../core/failure-cause.js'
import { parseJson } from '../../core/json.js'
import type { Exchange } from '../../core/plan.js'
import type { Failure } from '../../kernel/failure.js'
import { parsePath } from '../../wire/json-path.js'
import { JsonValues } from '../../wire/json-values.js'

/** Why a target failed: by its protocol's words where it said some, else by its status, or by what did not happen. */
export function causeOfFailure({ failures }: Exchange, failure: Failure): FailureCause | undefined {
  const { condition, error, said } = failure
  const isTimeout = error.code === 'upstream_timeout'
  return causeOf(condition, isTimeout, said === undefined ? undefined : failures, reader(said ?? ''))
}

/** Whether an answer that began well says that the content is refused: it has none of its own. */
export function isContentRefused({ failures }: Exchange, document: Buffer): boolean {
  return causeOf(200, false, failures, reader(document)) === 'content_refused'
}

/** Some servers send their error as the only element of a list. */
function reader(said: Buffer | string): (path: string) => unknown {
  const text = said.toString().trim()
  const bytes = Buffer.from(text.startsWith('[') ? (elementOf(text) ?? '') : text)
  const values = new JsonValues(bytes)
  return path => {
    try {
      return values.at(parsePath(path))
    } catch {
      return undefined
    }
  }
}

function elementOf(text: string): string | undefined {
  const list = parseJson(text)
  return Array.isArray(list) ? JSON.stringify(list[0]) : undefined
}
