import type { z } from 'zod';
import type { ServiceSettings } from './job.ts';
import { serviceSection } from './service-schema.ts';

/** The settings that a job file's `service` section stands for. */
export function serviceSettings(service: z.output<typeof serviceSection>): ServiceSettings {
  const { topic, match_type, start_date, end_date, limit, next_token } = service.parameters;
  return {
    rate: service.rate,
    burst: service.burst,
    concurrency: service.concurrency,
    pageSize: service.page_size,
    endDate: service.end_date,
    parameters: {
      ...(topic !== undefined && { topic }),
      ...(match_type !== undefined && { matchType: match_type }),
      ...(start_date !== undefined && { startDate: start_date }),
      ...(end_date !== undefined && { endDate: end_date }),
      ...(limit !== undefined && { limit }),
      ...(next_token !== undefined && { nextToken: next_token }),
    },
    connectTimeout: service.connect_timeout,
    headersTimeout: service.headers_timeout,
    bodyTimeout: service.body_timeout,
    maxBodyBytes: service.max_body_bytes,
    maxRecordBytes: service.max_record_bytes,
    maxAttempts: service.max_attempts,
    maxPagesWithoutNews: service.max_pages_without_news,
  };
}

/** What holds where no job file says otherwise: for commands that take no job. */
export const defaultServiceSettings: ServiceSettings = serviceSettings(serviceSection.parse({}));
