import type { Format } from './format.js'

/** The log's own form: one JSON object a line. */
export const jsonFormat: Format = ({ severity, at, message, fields, worker }) =>
  `${JSON.stringify({
    ...(worker === undefined ? {} : { worker }),
    ...{ level: severity, time: new Date(at).toISOString(), msg: message },
    ...fields,
  })}\n`
