/** An answer of the admin API that was not good. */
export class ApiError extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

let onSignedOut: () => void = () => undefined

/** What to do when the session is over. */
export function whenSignedOut(act: () => void): void {
  onSignedOut = act
}

interface Options {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly body?: object
  readonly signal?: AbortSignal
}

/** Rejects where nothing answers. The header says that our own page sends it. */
export async function ask(path: string, { method = 'GET', body, signal }: Options = {}): Promise<Response> {
  const answer = await fetch(path, {
    method,
    credentials: 'same-origin',
    headers: {
      'x-console': '1',
      accept: 'application/json',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  })
  return answer
}

/** The JSON of a good answer; throws {@link ApiError}. */
export async function call<T>(path: string, options: Options = {}): Promise<T> {
  const answer = await ask(path, options)
  const data: unknown = await answer.json().catch(() => undefined)
  if (answer.ok) return data as T
  if (answer.status === 401 && path !== '/admin/session') onSignedOut()
  const { error } = (data ?? {}) as { error?: { message?: string } }
  throw new ApiError(answer.status, error?.message ?? `the gateway answered ${answer.status}`)
}

export function messageOf(error: unknown): string {
  if (error instanceof ApiError) return error.message
  if (error instanceof TypeError) return 'The gateway does not answer.'
  return error instanceof Error ? error.message : String(error)
}
