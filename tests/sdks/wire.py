"""What a service writes on the wire: the body of a success, and of an error with its code.

SPDX-License-Identifier: MIT
"""

import json

JSON = {"dynamodb", "dynamodb-streams", "kinesis", "kms", "organizations", "sqs-json"}
REST_JSON = {"glacier"}
EC2 = {"ec2"}
S3 = {"s3"}
# Name of the element around the result of the operation that the drivers call.
QUERY = {"cloudsearch": "ListDomainNames", "sqs": "ListQueues", "sts": "GetCallerIdentity"}


def success(service):
    """The headers and the body of a success."""
    if service in JSON or service in REST_JSON:
        return {"content-type": "application/x-amz-json-1.1"}, "{}"
    if service in QUERY:
        name = QUERY[service]
        return {"content-type": "text/xml"}, (
            f"<{name}Response><{name}Result></{name}Result><ResponseMetadata>"
            f"<RequestId>r</RequestId></ResponseMetadata></{name}Response>")
    bodies = {
        "ec2": "<DescribeRegionsResponse><requestId>r</requestId></DescribeRegionsResponse>",
        "route53": "<ListHostedZonesResponse><HostedZones/><IsTruncated>false</IsTruncated>"
                   "<MaxItems>100</MaxItems></ListHostedZonesResponse>",
        "s3": "<ListAllMyBucketsResult><Buckets/></ListAllMyBucketsResult>",
    }
    return {"content-type": "text/xml"}, bodies[service]


def error(service, code, rng):
    """The headers and the body of an error; `code` may be None."""
    if service in REST_JSON:
        headers = {"content-type": "application/json"}
        if code is not None:
            headers["x-amzn-errortype"] = rng.choice([code, f"{code}:http://internal.amazon.com/"])
        return headers, '{"message": "it failed"}'
    if service in JSON:
        body = {"message": "it failed"}
        if code is not None:
            body["__type"] = rng.choice([code, f"com.amazonaws.{service.replace('-', '')}#{code}"])
        return {"content-type": "application/x-amz-json-1.1"}, json.dumps(body)
    inner = f"<Code>{code}</Code>" if code is not None else ""
    inner += "<Message>it failed</Message>"
    if service in EC2:
        body = f"<Response><Errors><Error>{inner}</Error></Errors><RequestID>r</RequestID></Response>"
    elif service in S3:
        body = f"<Error>{inner}<RequestId>r</RequestId></Error>"
    else:
        body = (f"<ErrorResponse><Error><Type>Sender</Type>{inner}</Error>"
                "<RequestId>r</RequestId></ErrorResponse>")
    return {"content-type": "text/xml"}, body
