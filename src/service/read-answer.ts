import { isMap } from '../config/field-types.ts';
import { checkStatus, longestWait, noteIn, serviceWords } from './check-status.ts';
import {
  type AddressFault,
  CursorBroken,
  MalformedPage,
  NoteInstead,
  PageTooLarge,
  RequestRefused,
} from './errors.ts';
import type { HttpAnswer } from './http.ts';
import { isSprawling, mostObjects, parseJson } from './json.ts';
import type { ServiceRequest } from './page.ts';
import type { Redactor } from './redact.ts';
import { remarkGuard } from './remarks.ts';

/** What was asked for: a page of records, a list such as the countries, or any other JSON. */
export type Wanted = 'page' | 'list' | 'document';

interface AnswerReaderOptions {
  readonly redactor: Redactor;
  /** Words that mean that there are no data (`service.no_data` of the job file). */
  readonly noData: readonly string[];
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Called when the service has echoed the key for the first time. */
  readonly onEcho: () => void;
}

/** So many notes in place of data, without a good answer between them, are not about one window: the quota is probably spent. */
const notesInARow = 3;

/** Reads the JSON of all answers of a client. */
export function answerReader({ redactor, noData, now, onEcho }: AnswerReaderOptions) {
  const redact = redactor.text;
  const heed = remarkGuard(redact, noteInstead);
  let notes = 0;
  let isEchoed = false;

  function noteInstead(what: string, words: string, addressFault?: AddressFault): NoteInstead {
    notes += 1;
    const retryAfterMs = notes < notesInARow ? undefined : longestWait;
    return new NoteInstead(what, words, { addressFault, retryAfterMs });
  }

  function jsonOf({ status, content }: HttpAnswer): unknown {
    if (isSprawling(content))
      throw new PageTooLarge(`The answer has more than ${mostObjects} objects or lists.`);
    const text = content.toString();
    const json = withoutKey(parseJson(text));
    const note = noteIn(text, json, redact);
    if (json !== undefined && note === undefined) return json;
    const words = note ?? serviceWords(text, redact);
    const addressFault = json === undefined ? noJson(status, words) : undefined;
    if (note !== undefined)
      throw noteInstead(`The service answered ${status} with a note in place of data`, note, addressFault);
    throw new MalformedPage(`The service answered ${status} without JSON: ${words}`, { addressFault });
  }

  /** @throws CursorBroken if its cursor contains the key */
  function withoutKey(from: unknown): unknown {
    if (isMap(from) && typeof from.next_token === 'string' && redactor.isInToken(from.next_token)) {
      throw new CursorBroken('The service sent a next_token that contains the API key, so it was not used.', {
        hint: 'Tell the vendor: a cursor must not contain a key. A smaller step in the job file may make one unnecessary.',
      });
    }
    const redacted = redactor.json(from);
    if (redacted.isEchoed && !isEchoed) onEcho();
    isEchoed ||= redacted.isEchoed;
    return redacted.json;
  }

  /** Returns true if the job says that these words mean that there are no data. */
  function meansNoData(error: unknown): boolean {
    if (!(error instanceof NoteInstead || error instanceof RequestRefused)) return false;
    const words = error.words.toLowerCase();
    return noData.some((one) => words.includes(one.toLowerCase()));
  }

  return {
    /**
     * Returns the JSON of a good answer, without the key.
     * @param path as sent, without the query
     * @param doubted what has made the request be sent again; see `remarkGuard`
     * @throws an error of `errors.ts` for any other answer
     */
    read(
      answer: HttpAnswer,
      request: ServiceRequest,
      { wanted, path, doubted }: { wanted: Wanted; path: string; doubted: Set<string> },
    ): unknown {
      const isPage = wanted === 'page';
      try {
        checkStatus(answer, { path, redact, now: now(), isPage });
        const json = jsonOf(answer);
        if (wanted !== 'document') heed(json, request, { isPage, doubted });
        return json;
      } catch (error) {
        // A later page's cursor may have expired: then the same words do not mean that the pages have ended.
        if (isPage && !request.isContinued && meansNoData(error)) return { data: [], has_more: false };
        throw error;
      }
    },
    /** Call it after a good answer. */
    succeeded() {
      notes = 0;
    },
  };
}

function noJson(status: number, words: string): AddressFault {
  const hint =
    "Is it the address of the API, not of a web site? A network's login page or a proxy may also stand in between.";
  return { what: `it answers ${status} without JSON: ${words}`, hint };
}
